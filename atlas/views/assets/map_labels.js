// The names of the domains on the map. Each stands at the top of the area of its domain or close to it, off other areas, off
// the points, off the other names and off the tools, and nearer to its own area than to any other. While the map is moved it
// goes along with its domain; once that rests, it keeps its place as long as that stays free.

const LABEL_CHARACTERS = 40
const FORMED = 4 // members from which a domain is named while the memory grows
const SURE = 3 // labels that stand on the map even if no free place is left, beside those of domains clearly below average
const FEW = 20 // names up to which all are sure
const PASSES = 3 // over the names, while they are few: the later ones find better places for those that were put first
const CELL_PIXELS = 6
const NAMES_REST_MILLISECONDS = 150 // since the last move of the map, after which places are found anew
const NAMES_REPLAY_MILLISECONDS = 250 // between two times that places are found while the memory grows
const PLACES = 2500, PLACES_OF_MANY = 300 // places that are looked at for a name, for few names and for many
const FAR = 110 // pixels from an area to the places that are looked at
const NAME_SIZE = 13, NOTE_SIZE = 11, LINE_PIXELS = 15
const LEADER_FROM = 10 // pixels from an area to its name from which a line joins them
const CLOSE_PIXELS = 12 // by which another area is farther from a name than its own
const TOP_CELLS = 6 // of an area in whose middle its name stands best
// Costs of a place: for each pixel from the top of the area, aside and downwards, and to the area; for each point that is covered; for each
// cell of other areas; for each step of its line over other areas; if another area is as close, or nearly; with a line, and for each
// crossing; in two lines; for each cell of its own area if it lies over the border; and close to another name.
const ASIDE = 0.2, DOWN = 0.45, AWAY = 1.5, COVERED = 40, OTHER_AREA = 25, UNDER_LINE = 40, UNCLEAR = 150, CLOSE = 15, LED = 40, CROSSING = 300, SECOND_LINE = 25, OVER_BORDER = 3, CLOSE_NAME = 40
const STEPS = [...Array(33).keys()].map((step) => step / 32) // shares of a line at which it is looked at

const isApart = (box, taken) =>
  !taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])
const grown = ([left, top, right, bottom], by) => [left - by, top - by, right + by, bottom + by]
const isWithin = ([left, top, right, bottom], { width, height, insets }) => left >= insets.left && top >= 0 && right <= width && bottom <= height

const rateText = (note) => (note ? ` · ${note}` : '') // beside a name
const isIn = ([px, py], [left, top, right, bottom]) => px >= left && px <= right && py >= top && py <= bottom
const along = (line, share) => [0, 1].map((at) => line.from[at] + (line.to[at] - line.from[at]) * share)
/** Whether a line, which may be missing, runs over a box. */
const isOver = (line, box) => Boolean(line) && STEPS.some((share) => isIn(along(line, share), box))

/** A name in one line, and in two of about the same length if it has several words. */
function linesOfName(name) {
  const spaces = [...name].flatMap((character, at) => (character === ' ' ? [at] : []))
  const [middle] = spaces.sort((one, other) => Math.abs(one - name.length * 0.55) - Math.abs(other - name.length * 0.55))
  return middle === undefined ? [[name]] : [[name], [name.slice(0, middle), name.slice(middle + 1)]]
}

function mapLabels(map) {
  const spots = new Map() // of each domain the place of its name, from its own place, and its lines
  let standing = [], ground = null
  let placedFor = [], placedAt = 0, nPlacements = 0, lastView = '', resting = null
  const isFew = () => map.colours.labels.length <= FEW
  const isFree = (box, taken) => isWithin(box, map) && isApart(box, taken)
  const cell = (pixel) => Math.floor(pixel / CELL_PIXELS)

  /** What is on the stage, in cells: the points that are to be seen and the areas. */
  function surveyed() {
    const { points, colours, width, height } = map
    const wide = cell(width) + 1, tall = cell(height) + 1, counts = new Uint32Array(wide * tall), owners = new Int16Array(wide * tall).fill(-1)
    for (let i = 0; i < points.n; i++) {
      const [px, py] = map.camera.where(i)
      if (px < 0 || py < 0 || px >= width || py >= height || !map.isVisible(i)) continue
      counts[cell(py) * wide + cell(px)]++
      if (colours.labels[colours.label_of?.[i]]) owners[cell(py) * wide + cell(px)] = colours.label_of[i] // for want of areas
    }
    const areaAt = colours.label_of && map.areas.finder()
    if (areaAt) owners.forEach((_, at) => (owners[at] = areaAt(((at % wide) + 0.5) * CELL_PIXELS, (Math.floor(at / wide) + 0.5) * CELL_PIXELS)))
    return { wide, tall, owners, points: sumsOf(counts, wide, tall), areas: sumsOf(owners.map((owner) => owner >= 0), wide, tall), extents: extentsOf(owners, wide) }
  }

  /** Sums over a grid, of the cells above and to the left of each node. */
  function sumsOf(counts, wide, tall) {
    const sums = new Uint32Array((wide + 1) * (tall + 1))
    for (let row = 0; row < tall; row++) for (let at = 0; at < wide; at++) {
      const node = (row + 1) * (wide + 1) + at + 1
      sums[node] = counts[row * wide + at] + sums[node - 1] + sums[node - wide - 1] - sums[node - wide - 2]
    }
    return sums
  }

  /** Of each area that is to be seen: the box about it, and the middle of its top, in pixels. */
  function extentsOf(owners, wide) {
    const extents = new Map()
    owners.forEach((owner, at) => {
      if (owner < 0) return
      const [x, y] = [at % wide, Math.floor(at / wide)], extent = extents.get(owner) ?? { box: [x, y, x, y], n: 0, sum: 0 }
      const { box: [left, top, right] } = extent
      extent.box = [Math.min(left, x), top, Math.max(right, x), y]
      if (y < top + TOP_CELLS) extent.n++, (extent.sum += x)
      extents.set(owner, extent)
    })
    for (const extent of extents.values()) {
      extent.box = extent.box.map((side, at) => (side + (at > 1)) * CELL_PIXELS)
      extent.middle = (extent.sum / extent.n + 0.5) * CELL_PIXELS
    }
    return extents
  }

  /** The cells of a box with its surroundings. */
  function cellsOf([left, top, right, bottom], pad) {
    const { wide, tall } = ground, within = (pixel, n) => Math.min(n - 1, Math.max(0, cell(pixel)))
    return [within(left - pad, wide), within(right + pad, wide) + 1, within(top - pad, tall), within(bottom + pad, tall) + 1]
  }

  function countIn(sums, [x0, x1, y0, y1]) {
    const wide = ground.wide + 1
    return sums[y1 * wide + x1] - sums[y0 * wide + x1] - sums[y1 * wide + x0] + sums[y0 * wide + x0]
  }

  /** How many cells of its own area, whose place is given, and of others are in some cells. */
  function areasIn(cells, place) {
    const { wide, owners, areas } = ground, [x0, x1, y0, y1] = cells, n = countIn(areas, cells)
    let own = 0
    if (n) for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) own += owners[y * wide + x] === place ? 1 : 0
    return { own, others: n - own }
  }

  /** Pixels from a box to its own area and to the nearest other one, in steps of a cell. Infinity where that is far. */
  function gapsOf(box, place) {
    const gaps = { own: Infinity, others: Infinity }
    for (let pad = 0; pad <= Math.min(FAR, gaps.own + CLOSE_PIXELS); pad += CELL_PIXELS) {
      const { own, others } = areasIn(cellsOf(box, pad), place)
      if (own) gaps.own = Math.min(gaps.own, pad)
      if (others) gaps.others = Math.min(gaps.others, pad)
    }
    return gaps
  }

  /** Whether a line joins a name to its area: if that is far, or another one as close. */
  const isLed = ({ own, others }) => own > LEADER_FROM || (own > 0 && others <= own)

  const coveredBy = (box) => countIn(ground.points, cellsOf(box, map.camera.pointSize() / 2))
  /** Whether a name covers no point and no area of others, and is nearer to its own. */
  const isBare = (box, place) => {
    const gaps = gapsOf(box, place)
    return !coveredBy(box) && gaps.own < gaps.others
  }

  /** The shortest line from a box to its area, whose place is given. Undefined where that is not to be seen. */
  function leaderFrom([left, top, right, bottom], place) {
    const { wide, owners, extents } = ground, [x0, y0, x1, y1] = (extents.get(place)?.box ?? [0, 0, 0, 0]).map((side) => side / CELL_PIXELS)
    let best
    for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) {
      if (owners[y * wide + x] !== place) continue
      const [px, py] = [(x + 0.5) * CELL_PIXELS, (y + 0.5) * CELL_PIXELS]
      const from = [Math.min(Math.max(px, left), right), Math.min(Math.max(py, top), bottom)], length = Math.hypot(px - from[0], py - from[1])
      if (!best || length < best.length) best = { from, to: [px, py], length }
    }
    return best
  }

  /** Draw them, and return the boxes that are taken then. */
  function draw() {
    const { view, width, height } = map, viewNow = [view.x, view.y, view.scale, width, height].join()
    if (spots.size && lastView && viewNow !== lastView) rest()
    lastView = viewNow
    const isGrowing = map.replay.isPlaying() && performance.now() < placedAt + NAMES_REPLAY_MILLISECONDS
    if (isFollowing() || isGrowing) follow()
    else placeAll()
    for (const found of standing) write(found)
    return [...map.covered, ...standing.map(({ box }) => box)]
  }

  /** Whether the names go along with the map: while it is dragged or flies, and for a while after. */
  const isFollowing = () => resting !== null || map.camera.isFlying() || Boolean(map.drag?.how === 'pan' && map.drag.moved)

  /** Have the names go along with the map until it has not moved for a while. */
  function rest() {
    clearTimeout(resting)
    resting = map.later(() => ((resting = null), map.dirty()), NAMES_REST_MILLISECONDS)
  }

  /** Keep each at its distance from its domain, as far as it does not get in the way. To find places takes too long for each move. */
  function follow() {
    placedFor = []
    standing = []
    labelsNow().forEach((label, rank) => {
      const before = spots.get(label.number), [px, py] = map.camera.toScreen(label.x, label.y)
      const layout = before && layoutsOf(label, rank, px, py).layouts[before.number]
      const taken = [...map.covered, ...standing.map((other) => other.box)]
      const box = layout && boxOf({ ...before, layout }, px, py), { number, name, note } = label
      if (box && isFree(box, taken)) standing.push({ box, rank, number, name, note, label, layout, covered: 0, gaps: { own: 0, others: Infinity }, leader: null })
    })
  }

  /** Find a place for each, the first ones first, and better ones for few as long as there are some. */
  function placeAll() {
    const { points, colours, hidden, days, marks, covered } = map, now = [points, colours, marks.shown, map.replay.isPlaying(), [lastView, ...hidden, ...days, ...covered].join()]
    if (now.every((each, at) => each === placedFor[at])) return
    placedFor = now
    placedAt = performance.now()
    nPlacements++
    ground = surveyed()
    const shown = labelsNow().flatMap((label, rank) => {
      const [px, py] = map.camera.toScreen(label.x, label.y)
      return px < 0 || py < 0 || px > map.width || py > map.height ? [] : [layoutsOf(label, rank, px, py)]
    })
    standing = []
    const isKept = shown.map((each) => put(each, spots.get(each.label.number)))
    for (let pass = 1; isFew() && isKept.includes(false) && pass < PASSES; pass++) shown.forEach((each, at) => isKept[at] || put(each))
    if (isFew()) for (const each of shown) relieve(each, shown)
  }

  const standingOf = ({ label }) => standing.find(({ number }) => number === label.number)

  const costOfBoth = (names) => names.reduce((sum, name) => sum + (name?.cost ?? Infinity), 0)

  /** Move another name nearby where that gives one that covers points a place that is better for both together. */
  function relieve(each, shown) {
    for (const other of shown) {
      const found = [each, other].map(standingOf), before = standing
      if (each === other || !found[0]?.covered || !found[1] || isApart(grown(ground.extents.get(each.place).box, FAR), [found[1].box])) continue
      standing = standing.filter((name) => !found.includes(name))
      put(each)
      put(other)
      if (costOfBoth([each, other].map(standingOf)) < costOfBoth(found)) continue
      standing = before
      for (const { number, spot } of found) spots.set(number, spot)
    }
  }

  /** What one may look like: in one line or in two, with half its width and half its height. */
  function layoutsOf(label, rank, px, py) {
    const { name, note, number, weak } = label, { overlay } = map
    const text = name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS - 1)}…` : name, isBadged = weak && note
    const layouts = linesOfName(text).map((lines) => {
      const widths = lines.map((line, at) => overlay.measure(line, NAME_SIZE, 600) + (isBadged || at < lines.length - 1 ? 0 : overlay.measure(rateText(note), NOTE_SIZE, 400)))
      const wide = Math.max(...widths, isBadged ? overlay.measure(note, NOTE_SIZE, 600) + 8 : 0)
      return { lines, widths, half: wide / 2 + 4, low: (lines.length * LINE_PIXELS + (isBadged ? 19 : 3)) / 2 }
    })
    return { label, rank, layouts, px, py, place: map.colours.labels.findIndex((each) => each.number === number), isSure: label.weak || rank < SURE || isFew() }
  }

  const boxOf = ({ dx, dy, layout: { half, low } }, px, py) => [px + dx - half, py + dy - low, px + dx + half, py + dy + low]

  /** Put one on the stage where it stood before if it can, else at the best place. Returns whether it could. */
  function put(each, before) {
    const { label, rank, layouts, px, py, place } = each, { number, name, note } = label
    standing = standing.filter((other) => other.number !== number)
    const taken = [...map.covered, ...standing.map(({ box }) => box)]
    const boxAt = (spot) => boxOf(spot, px, py)
    const kept = before && { ...before, layout: layouts[before.number] }
    const isKept = Boolean(kept?.layout) && isFree(boxAt(kept), taken) && isBare(boxAt(kept), place)
    const best = isKept ? kept : bestSpot(each, taken, boxAt)
    if (!best) return false
    const { dx, dy, layout, cost = 0 } = best, spot = { dx, dy, number: layouts.indexOf(layout) }, box = boxAt(best), gaps = gapsOf(box, place)
    spots.set(number, spot)
    standing.push({ box, rank, number, name, note, label, layout, spot, cost, covered: coveredBy(box), gaps, leader: isLed(gaps) ? leaderFrom(box, place) : null })
    return isKept
  }

  /** Whether the line from a name to its domain would cross another name, or the name another line. */
  const isCrossed = (box, leader) => standing.some((other) => isOver(leader, other.box) || isOver(other.leader, box))

  /** The best free place about an area. Undefined where none is bare and near, unless the name has to stand. */
  function bestSpot(each, taken, boxAt) {
    const { layouts, px, py, place, isSure } = each, extent = ground.extents.get(place)
    if (!extent) return undefined
    let best, least = Infinity
    layouts.forEach((layout, number) => {
      const [left, top, right, bottom] = [extent.box[0] - layout.half - FAR, extent.box[1] - layout.low - FAR, extent.box[2] + layout.half + FAR, extent.box[3] + layout.low + FAR]
      const step = Math.max(CELL_PIXELS / 2, Math.sqrt((right - left) * (bottom - top) / (2 * (isFew() ? PLACES : PLACES_OF_MANY))))
      for (let y = top; y <= bottom; y += step) for (let x = extent.middle - Math.ceil((extent.middle - left) / (2 * step)) * 2 * step; x <= right; x += 2 * step) {
        const cost = SECOND_LINE * number + ASIDE * Math.abs(x - extent.middle) + DOWN * Math.max(0, y + layout.low - extent.box[1])
        const spot = { dx: x - px, dy: y - py, layout }
        if (cost >= least || !isFree(boxAt(spot), taken)) continue
        const whole = cost + costOf(boxAt(spot), place, isSure, least - cost)
        if (whole < least) (least = whole), (best = { ...spot, cost: whole })
      }
    })
    return best
  }

  /** The cost of a place besides its distance from the best one. Infinity for one that a name may not have, and where it is no less than the most. */
  function costOf(box, place, isSure, most) {
    const cells = cellsOf(box, 0), within = areasIn(cells, place), size = (cells[1] - cells[0]) * (cells[3] - cells[2])
    const covered = coveredBy(box), isOverBorder = within.own > 0 && within.own < 0.9 * size
    const cost = COVERED * covered + OTHER_AREA * within.others + (isOverBorder ? OVER_BORDER * within.own : 0) + (isApart(grown(box, CLOSE_PIXELS), standing.map((other) => other.box)) ? 0 : CLOSE_NAME)
    if (cost >= most || (!isSure && covered)) return Infinity
    const gaps = gapsOf(box, place), isClose = gaps.own + CLOSE_PIXELS > gaps.others
    const whole = cost + (gaps.own >= gaps.others ? UNCLEAR : isClose ? CLOSE : 0) + AWAY * Math.min(gaps.own, 2 * FAR) + (isLed(gaps) ? LED : 0)
    if (whole >= most || (!isSure && gaps.own >= gaps.others)) return Infinity
    const leader = isLed(gaps) ? leaderFrom(box, place) : null, crosses = isCrossed(box, leader)
    return crosses && !isSure ? Infinity : whole + (crosses ? CROSSING : 0) + (leader ? UNDER_LINE * strangersUnder(leader, place) : 0)
  }

  /** At how many of its steps a line runs over areas of others. */
  function strangersUnder(leader, place) {
    const { wide, owners } = ground, owner = ([px, py]) => owners[cell(py) * wide + cell(px)]
    return STEPS.filter((share) => ![-1, place, undefined].includes(owner(along(leader, share)))).length
  }

  function write({ label: { note, colour, weak }, layout: { lines, widths, half, low }, box: [left, top], leader }) {
    const { theme, overlay } = map, middle = left + half
    const rgb = colour == null ? theme.text : legible(theme, entryColour(theme, { colour }))
    if (leader) overlay.line([[leader.from, leader.to]], 1, rgb, 0.7)
    lines.forEach((line, at) => {
      const start = middle - widths[at] / 2, py = top + 1.5 + (at + 0.5) * LINE_PIXELS, isLast = at === lines.length - 1
      overlay.write(line, start, py, NAME_SIZE, 600, rgb, 1, 'left')
      if (isLast && !(weak && note)) overlay.write(rateText(note), start + overlay.measure(line, NAME_SIZE, 600), py, NOTE_SIZE, 400, theme.quiet, 1, 'left')
    })
    if (weak && note) overlay.badge(note, middle, top + 2 * low - 9.5, NOTE_SIZE, theme.red, theme.ground)
  }

  // While the memory grows, a domain's label stands there once enough of it does, with its rate by then.
  function labelsNow() {
    const { points, colours, days } = map
    if (!map.replay.isPlaying() || !colours.label_of) return colours.labels
    const counts = colours.labels.map(() => ({ n: 0, known: 0, succeeded: 0 }))
    for (let i = 0; i < points.n; i++) {
      const count = counts[colours.label_of[i]]
      if (!count || points.day[i] > days[1]) continue
      count.n++
      count.known += points.outcome[i] < 2 ? 1 : 0
      count.succeeded += points.outcome[i] === 0 ? 1 : 0
    }
    return colours.labels.flatMap((label, i) => {
      const { n, known, succeeded } = counts[i]
      return n >= FORMED ? [{ ...label, note: !known ? '' : label.weak ? percentOf(succeeded, known) : `${Math.round((100 * succeeded) / known)}%` }] : []
    })
  }

  /** The number of the domain whose name stands at a place. Undefined for none. */
  const at = (px, py) => standing.find(({ box }) => isIn([px, py], box))?.number
  /** Fly to a domain, and have its panel opened. */
  function open(number) {
    const label = map.colours.labels.find((other) => other.number === number)
    if (!label) return
    map.camera.show(label)
    map.callbacks.onDomain?.({ number })
  }

  return { draw, isFree, at, open, isFollowing, nPlacements: () => nPlacements, forget: () => (spots.clear(), (placedFor = [])), look: () => [...standing].sort((one, other) => one.rank - other.rank) }
}
