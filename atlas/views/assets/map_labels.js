// The names of the domains on the map. Each is pushed off the points, off the other names and off the tools, to the nearest
// free place about its domain. It keeps that place while the map is moved, as long as the place stays free.

const LABEL_CHARACTERS = 40
const FORMED = 4 // members from which a domain is named while the memory grows
const SURE = 3 // labels that stand on the map even if no free place is left: those of the worst domains, which come first
const CELL_PIXELS = 6
const ANGLES = 32
const DISTANCES = [-40, -20, 6, 14, 20, 26, 34, 44, 56, 70, 86, 105, 126, 150] // pixels from the edge of a domain's core
const NEAR = 70, FAR = 110 // pixels to the domain of a name that need not stand, of many names and of few: a map of many long lines is hard to read
const FEW = 20 // names
const NAME_SIZE = 13, NOTE_SIZE = 11
const WEAK_PIXELS = 20, WEAK_STRENGTH = 0.13, WEAK_STRENGTH_ON_DARK = 0.2 // reach and opacities of the shade about the points of weak domains
const OTHER_PIXELS = 16, OTHER_LINE = 0.4, SHADED_MOST = 3000 // reach and opacity of the outline of other domains, and points up to which domains have a shade or an outline
const LEADER_FROM = 30 // pixels from a name to the nearest point of its domain, or to its shade, from which a line leads there
const ASIDE = 0.35, BELOW = 14, OWN = 20, STRANGER = 5, LED = 30 // costs of a place: for each pixel from the middle, below the domain, for each point of it that is covered, for each one of others near by, with a line
const OWN_COVERED = 3 // points of its own domain that a name may cover
const STEPS = [...Array(17).keys()].map((step) => step / 16) // shares of a line at which it is looked at
const MEMBERS = 150 // points of a domain that are looked at for the nearest

const isApart = (box, taken) =>
  !taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])
const isWithin = ([left, top, right, bottom], { width, height, insets }) => left >= insets.left && top >= 0 && right <= width && bottom <= height

const isIn = ([px, py], [left, top, right, bottom]) => px >= left && px <= right && py >= top && py <= bottom
/** Whether a line, which may be missing, runs over a box. */
const isOver = (line, box) => Boolean(line) && STEPS.some((share) => isIn([0, 1].map((at) => line.from[at] + (line.to[at] - line.from[at]) * share), box))

function mapLabels(map) {
  const spots = new Map() // of each domain the place of its name, from its own place
  let standing = [], crowd = null, members = null
  const isFree = (box, taken) => isWithin(box, map) && isApart(box, taken)

  const cell = (pixel) => Math.floor(pixel / CELL_PIXELS)
  /** How many points are to be seen in a box: sums over a grid, of all points and of those that are shaded. Worked out anew where the view or the points change. */
  function crowdNow() {
    const { points, colours, view, width, height, hidden, days, marks } = map
    const of = [points.key, colours.title, view.x, view.y, view.scale, width, height, [...hidden], days, marks.shown].join()
    if (crowd?.of === of) return crowd
    const wide = cell(width) + 2, tall = cell(height) + 2
    const seen = Array.from({ length: points.n }, (_, i) => i).filter(map.isVisible)
    return (crowd = { of, wide, tall, all: sumsOf(seen, wide, tall), shaded: sumsOf(weakPoints(), wide, tall) })
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

  /** How many points of its own domain, whose places are given, a name would cover, and how many others. A shade is no ground for a name. */
  function pointsIn(box, weak, places) {
    const { all, shaded } = crowdNow(), around = cellsOf(box, WEAK_PIXELS)
    const cells = weak ? around : cellsOf(box, map.camera.pointSize() / 2), n = countIn(all, cells), own = n ? ownIn(places, cells) : 0
    return { own, others: Math.max(0, n - own) + (weak ? 0 : countIn(shaded, around)) }
  }

  const ownIn = (places, [x0, x1, y0, y1]) => places.filter(([px, py]) => cell(px) >= x0 && cell(px) < x1 && cell(py) >= y0 && cell(py) < y1).length
  /** How many points of others lie so close to a name that it might seem to be theirs. */
  function strangersNear(box, places) {
    const cells = cellsOf(box, WEAK_PIXELS), n = countIn(crowdNow().all, cells)
    return n && Math.max(0, n - ownIn(places, cells))
  }

  /** Whether a name may stand on what a box covers: on nothing of other domains, and on few points of its own, if these are all known and not shaded. */
  const isBare = ({ own, others }, weak) => !others && own <= (weak ? 0 : OWN_COVERED)

  /** Points of a domain: all, or some of very many. */
  function membersOf(number) {
    const { label_of, labels } = map.colours
    if (members?.of !== label_of) {
      members = { of: label_of, lists: labels.map(() => []) }
      label_of?.forEach((place, i) => members.lists[place]?.push(i))
      members.lists = members.lists.map((list) => list.filter((_, at) => at % Math.ceil(list.length / MEMBERS) === 0))
    }
    return members.lists[labels.findIndex((label) => label.number === number)] ?? []
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

  /** The points that are to be seen of some domains, a list for each. None where the colours mean something else, or where they are many. */
  function pointsOf(isMeant) {
    const { points, colours } = map, lists = colours.labels.map((label) => (colours.domains && isMeant(label) ? [] : null))
    let n = 0
    if (lists.some((list) => list)) for (let i = 0; i < points.n && n <= SHADED_MOST; i++) {
      const list = lists[colours.label_of[i]]
      if (list && map.isVisible(i)) n = n + 1, list.push(i)
    }
    return n <= SHADED_MOST ? lists.filter((list) => list?.length) : []
  }

  /** The points of the domains that do clearly worse than the rest. */
  const isWeak = ({ weak }) => weak
  const weakPoints = () => pointsOf(isWeak).flat()

  /** Shade the surroundings of weak domains, and outline the others where no colour tells them apart. */
  function shade() {
    const { theme, overlay } = map, closer = Math.max(1, map.camera.magnification()), share = Math.min(1, 3 - closer) // amid a domain it would tint all
    if (share <= 0) return
    for (const list of pointsOf(({ weak, colour }) => !weak && colour == null)) overlay.shade(list, OTHER_PIXELS * closer, theme.grey, 0, OTHER_LINE * share)
    const strength = (theme.isDark ? WEAK_STRENGTH_ON_DARK : WEAK_STRENGTH) * share
    for (const list of pointsOf(isWeak)) overlay.shade(list, WEAK_PIXELS * closer, theme.red, strength)
  }

  /** Draw them, and return the boxes that are taken then. */
  function draw() {
    const taken = [...map.covered]
    standing = []
    labelsNow().forEach((label, place) => {
      const [px, py] = map.camera.toScreen(label.x, label.y)
      if (px < 0 || py < 0 || px > map.width || py > map.height) return
      const found = put(label, px, py, taken, place < SURE)
      if (found) taken.push(found.box), standing.push(found)
    })
    return taken
  }

  /** Draw one, and return where. Null where there is no room. */
  function put(label, px, py, taken, isSure) {
    const { name, note, number, radius, weak } = label, { overlay } = map
    const text = name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS - 1)}…` : name
    const half = Math.max(overlay.measure(text, NAME_SIZE, 600), note ? overlay.measure(note, NOTE_SIZE, 600) + 8 : 0) / 2 + 4, low = note ? 18 : 11
    const box = ([dx, dy]) => [px + dx - half, py + dy - low, px + dx + half, py + dy + low]
    const before = spots.get(number), places = membersOf(number).filter(map.isVisible).map(map.camera.where)
    const spot = before && isFree(box(before), taken) && isBare(pointsIn(box(before), weak, places), weak) ? before : nearest(box, places, taken, half, radius * map.view.scale, isSure, weak)
    if (!spot) return null
    spots.set(number, spot)
    const found = leaderFrom(box(spot), places), leader = found?.length > LEADER_FROM + (weak ? WEAK_PIXELS / 3 : 0) ? found : null
    write(label, text, px, py, spot, leader)
    return { box: box(spot), number, name, note, covered: pointsIn(box(spot), weak, places), leader }
  }

  /** Whether the line from a name to its domain would cross another name, or the name another line. */
  const isCrossed = (box, leader) => standing.some((other) => isOver(leader, other.box) || isOver(other.leader, box))

  /** The free place nearest to the points of a domain, above its middle if it can be. Where none is bare of points, that with the fewest, if a name has to stand. */
  function nearest(box, places, taken, half, reach, isSure, weak) {
    const core = Math.min(reach * 1.3, 120), near = map.colours.labels.length <= FEW ? FAR : NEAR
    let best = null, least = Infinity
    for (const distance of DISTANCES)
      for (let turn = 0; turn < ANGLES; turn++) {
        const angle = (2 * Math.PI * (turn - ANGLES / 4)) / ANGLES, across = Math.cos(angle), down = Math.sin(angle)
        const spot = [across * (core + distance + half), down * (core + distance + 14)]
        if (!isFree(box(spot), taken)) continue
        const covered = pointsIn(box(spot), weak, places)
        if (!isSure && !isBare(covered, weak)) continue
        const leader = leaderFrom(box(spot), places), far = leader?.length ?? distance, crosses = isCrossed(box(spot), leader)
        const cost = covered.others * 60 + covered.own * (weak ? 60 : OWN) + far + (far > LEADER_FROM ? LED : 0) + ASIDE * Math.abs(spot[0]) + (down > 0 ? BELOW : 0) + (crosses ? 80 : 0) + STRANGER * strangersNear(box(spot), places)
        if ((isSure || (!crosses && far <= near)) && cost < least) (least = cost), (best = spot)
      }
    return best
  }

  function write({ note, colour, weak }, text, px, py, [dx, dy], leader) {
    const { theme, overlay } = map
    const rgb = colour == null ? theme.text : legible(theme, entryColour(theme, { colour }))
    if (leader) overlay.line([[leader.from, leader.to]], 1, rgb, 0.7)
    overlay.write(text, px + dx, py + dy - (note ? 8 : 0), NAME_SIZE, 600, rgb)
    if (weak && note) overlay.badge(note, px + dx, py + dy + 9, NOTE_SIZE, theme.red, theme.ground)
    else if (note) overlay.write(note, px + dx, py + dy + 8, NOTE_SIZE, 400, theme.text, 0.85)
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
      return n >= FORMED ? [{ ...label, note: label.weak && known ? percentOf(succeeded, known) : '' }] : []
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

  return { draw, shade, isFree, at, open, forget: () => spots.clear(), look: () => standing }
}
