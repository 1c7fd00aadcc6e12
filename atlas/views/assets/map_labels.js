// The names of the domains on the map. Each stands beside the area of its domain, off the points, off other areas, off the
// other names and off the tools. It keeps its place while the map is moved, as long as that stays free.

const LABEL_CHARACTERS = 40
const FORMED = 4 // members from which a domain is named while the memory grows
const SURE = 3 // labels that stand on the map even if no free place is left: those of the worst domains, which come first
const FEW = 20 // names up to which all are sure
const CELL_PIXELS = 6
const ANGLES = 16, SEEDS = 24, SEEDS_OF_MANY = 6 // directions from a point of a domain in which places are looked for, and points from which they are, for few names and for many
const GAPS = [-9, 3, 14, 30, 50, 80, 120] // pixels from the reach of that point to a place, first within it
const FAR = 110 // pixels from a domain at which a name may stand that need not
const NAME_SIZE = 13, NOTE_SIZE = 11
const LEADER_FROM = 9, LEADER_INSIDE = 5 // pixels from an area to its name from which a line joins them, and of that line within the area
// Costs of a place: for each pixel from the middle of the domain, and to the area; below the middle; for each point that is covered, for
// each one whose area is covered, of its own domain or of others, and for each one of others close by; with a line, and for each crossing.
const ASIDE = 0.25, AWAY = 1, BELOW = 12, COVERED = 60, OWN_AREA = 1, OTHER_AREA = 40, CLOSE = 4, LED = 40, CROSSING = 300, UNDER_LINE = 30
const BORDER = 0.6 // share of the reach within which a name lies over an area rather than at its border
const CLOSE_PIXELS = 16 // from an area to a name that might seem to be its own
const STEPS = [...Array(17).keys()].map((step) => step / 16) // shares of a line at which it is looked at
const MEMBERS = 150 // points of a domain that are looked at for the nearest

const isApart = (box, taken) =>
  !taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])
const isWithin = ([left, top, right, bottom], { width, height, insets }) => left >= insets.left && top >= 0 && right <= width && bottom <= height

const rateText = (note) => (note ? ` · ${note}` : '') // beside a name
const isIn = ([px, py], [left, top, right, bottom]) => px >= left && px <= right && py >= top && py <= bottom
const along = (line, share) => [0, 1].map((at) => line.from[at] + (line.to[at] - line.from[at]) * share)
/** Whether a line, which may be missing, runs over a box. */
const isOver = (line, box) => Boolean(line) && STEPS.some((share) => isIn(along(line, share), box))

function mapLabels(map) {
  const spots = new Map() // of each domain the place of its name, from its own place
  let standing = [], crowd = null
  const isFew = () => map.colours.labels.length <= FEW
  const isFree = (box, taken) => isWithin(box, map) && isApart(box, taken)

  const cell = (pixel) => Math.floor(pixel / CELL_PIXELS)
  /** How many points are to be seen in a box: sums over a grid, of all points, of those of domains and of those that are shaded. Worked out anew where the view or the points change. */
  function crowdNow() {
    const { points, colours, view, width, height, hidden, days, marks } = map
    const of = [points.key, colours.title, view.x, view.y, view.scale, width, height, [...hidden], days, marks.shown].join()
    if (crowd?.of === of) return crowd
    const wide = cell(width) + 2, tall = cell(height) + 2
    const seen = Array.from({ length: points.n }, (_, i) => i).filter(map.isVisible)
    const ofDomains = seen.filter((i) => colours.labels[colours.label_of?.[i]])
    return (crowd = { of, wide, tall, all: sumsOf(seen, wide, tall), domains: sumsOf(ofDomains, wide, tall), shaded: sumsOf(map.areas.weakPoints(), wide, tall) })
  }

  function sumsOf(numbers, wide, tall) {
    const sums = new Uint32Array(wide * tall)
    for (const i of numbers) {
      const [px, py] = map.camera.where(i)
      if (px >= 0 && py >= 0 && px < map.width && py < map.height) sums[(cell(py) + 1) * wide + cell(px) + 1]++
    }
    for (let row = 1; row < tall; row++) for (let at = 1; at < wide; at++) {
      const here = row * wide + at
      sums[here] += sums[here - 1] + sums[here - wide] - sums[here - wide - 1]
    }
    return sums
  }

  /** The cells of a box with its surroundings. */
  function cellsOf([left, top, right, bottom], pad) {
    const { wide, tall } = crowdNow(), within = (pixel, n) => Math.min(n - 2, Math.max(0, cell(pixel)))
    return [within(left - pad, wide), within(right + pad, wide) + 1, within(top - pad, tall), within(bottom + pad, tall) + 1]
  }

  function countIn(sums, [x0, x1, y0, y1]) {
    const { wide } = crowdNow()
    return sums[y1 * wide + x1] - sums[y0 * wide + x1] - sums[y1 * wide + x0] + sums[y0 * wide + x0]
  }

  const ownIn = (places, [x0, x1, y0, y1]) => places.filter(([px, py]) => cell(px) >= x0 && cell(px) < x1 && cell(py) >= y0 && cell(py) < y1).length

  /** How many points of domains lie within some pixels of a box: of its own domain, whose places are given, and of others. */
  function countAbout(box, pad, places, sums = crowdNow().domains) {
    const cells = cellsOf(box, pad), n = countIn(sums, cells), own = n ? ownIn(places, cells) : 0
    return { own, others: Math.max(0, n - own) }
  }

  /** How many points a name would cover. The shade of a weak domain is no ground for the name of another. */
  function coveredBy(box, weak, places) {
    const { own, others } = countAbout(box, map.camera.pointSize() / 2, places, crowdNow().all)
    return { own, others: others + (weak ? 0 : countIn(crowdNow().shaded, cellsOf(box, map.areas.reach()))) }
  }

  const isBare = ({ own, others }) => !others && !own

  /** Points of a domain that are to be seen: all, or some of very many. */
  function placesOf(number) {
    const list = map.areas.members()[map.colours.labels.findIndex((label) => label.number === number)] ?? [], apart = Math.ceil(list.length / MEMBERS)
    return list.filter((i, at) => at % apart === 0 && map.isVisible(i)).map(map.camera.where)
  }

  /** The shortest line from a box to a point of a domain, and its length. Undefined where no point is to be seen. */
  function leaderFrom([left, top, right, bottom], places) {
    let best
    for (const [px, py] of places) {
      const from = [Math.min(Math.max(px, left), right), Math.min(Math.max(py, top), bottom)], length = Math.hypot(px - from[0], py - from[1])
      if (!best || length < best.length) best = { from, to: [px, py], length }
    }
    return best
  }

  /** Draw them, and return the boxes that are taken then. */
  function draw() {
    const taken = [...map.covered]
    standing = []
    labelsNow().forEach((label, place) => {
      const [px, py] = map.camera.toScreen(label.x, label.y)
      if (px < 0 || py < 0 || px > map.width || py > map.height) return
      const found = put(label, px, py, taken, place < SURE || isFew())
      if (found) taken.push(found.box), standing.push(found)
    })
    return taken
  }

  /** Draw one, and return where. Null where there is no room. */
  function put(label, px, py, taken, isSure) {
    const { name, note, number, weak } = label, { overlay } = map
    const text = name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS - 1)}…` : name
    const wide = overlay.measure(text, NAME_SIZE, 600), beside = overlay.measure(rateText(note), NOTE_SIZE, 400)
    const half = (weak && note ? Math.max(wide, overlay.measure(note, NOTE_SIZE, 600) + 8) : wide + beside) / 2 + 4, low = weak && note ? 18 : 11
    const box = ([dx, dy]) => [px + dx - half, py + dy - low, px + dx + half, py + dy + low]
    const before = spots.get(number), places = placesOf(number)
    const spot = before && isFree(box(before), taken) && isBare(coveredBy(box(before), weak, places)) ? before : nearest(box, [px, py], places, taken, [half, low], isSure, weak)
    if (!spot) return null
    spots.set(number, spot)
    const leader = leaderFrom(box(spot), places), gap = leader ? leader.length - map.areas.reach() : 0
    const isClear = gap < LEADER_FROM && !countAbout(box(spot), map.areas.reach() + LEADER_FROM, places).others
    write(label, text, px, py, spot, isClear || gap <= 0 ? null : inside(leader, gap))
    return { box: box(spot), number, name, note, covered: coveredBy(box(spot), weak, places), leader: isClear ? null : leader }
  }

  /** A line that ends within the area, short of the point. */
  const inside = (leader, gap) => ({ ...leader, to: along(leader, Math.min(1, (gap + LEADER_INSIDE) / leader.length)) })

  /** Whether the line from a name to its domain would cross another name, or the name another line. */
  const isCrossed = (box, leader) => standing.some((other) => isOver(leader, other.box) || isOver(other.leader, box))

  /** The best free place about the points of a domain. Undefined where none is bare of points and near, unless the name has to stand. */
  function nearest(box, [px, py], places, taken, [half, low], isSure, weak) {
    const reach = map.areas.reach(), step = Math.ceil(places.length / (isFew() ? SEEDS : SEEDS_OF_MANY))
    let best, least = Infinity
    for (const [x, y] of places.filter((_, at) => at % step === 0))
      for (const gap of GAPS)
        for (let turn = 0; turn < ANGLES; turn++) {
          const angle = (2 * Math.PI * turn) / ANGLES, across = Math.cos(angle), down = Math.sin(angle)
          const spot = [x - px + across * (reach + gap + half), y - py + down * (reach + gap + low)]
          if (!isFree(box(spot), taken)) continue
          const cost = costOf(box(spot), spot, places, reach, isSure, weak)
          if (cost < least) (least = cost), (best = spot)
        }
    return best
  }

  /** The cost of a place. Infinity for one that a name may not have. */
  function costOf(box, [dx, dy], places, reach, isSure, weak) {
    const covered = coveredBy(box, weak, places)
    if (!isSure && !isBare(covered)) return Infinity
    const leader = leaderFrom(box, places), gap = Math.max(0, (leader?.length ?? 0) - reach), crosses = isCrossed(box, leader)
    if (!isSure && (crosses || gap > FAR)) return Infinity
    const touched = countAbout(box, reach * BORDER, places), close = countAbout(box, reach + CLOSE_PIXELS, places).others
    const ledCost = gap > LEADER_FROM ? LED + UNDER_LINE * strangersUnder(leader, gap, places) : 0
    return COVERED * (covered.others + covered.own) + OWN_AREA * touched.own + OTHER_AREA * touched.others + CLOSE * close +
      AWAY * gap + ASIDE * Math.hypot(dx, dy) + (dy > 0 ? BELOW : 0) + (crosses ? CROSSING : 0) + ledCost
  }

  /** How many points of others lie about the part of a line that is outside of the area, each at every step that is near. */
  function strangersUnder(leader, gap, places) {
    const shares = STEPS.filter((share) => share * leader.length < gap)
    return shares.reduce((n, share) => n + countAbout([...along(leader, share), ...along(leader, share)], map.areas.reach() / 2, places).others, 0)
  }

  function write({ note, colour, weak }, text, px, py, [dx, dy], leader) {
    const { theme, overlay } = map
    const rgb = colour == null ? theme.text : legible(theme, entryColour(theme, { colour }))
    if (leader) overlay.line([[leader.from, leader.to]], 1, rgb, 0.7)
    if (weak && note) {
      overlay.write(text, px + dx, py + dy - 8, NAME_SIZE, 600, rgb)
      return overlay.badge(note, px + dx, py + dy + 9, NOTE_SIZE, theme.red, theme.ground)
    }
    const wide = overlay.measure(text, NAME_SIZE, 600), left = px + dx - (wide + overlay.measure(rateText(note), NOTE_SIZE, 400)) / 2
    overlay.write(text, left, py + dy, NAME_SIZE, 600, rgb, 1, 'left')
    overlay.write(rateText(note), left + wide, py + dy, NOTE_SIZE, 400, legible(theme, theme.grey), 1, 'left')
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

  return { draw, isFree, at, open, forget: () => spots.clear(), look: () => standing }
}
