// Smooth contours about groups of places: a sum of bells over a coarse grid, and the line at which it is as high as about
// a single place. Where groups meet, the line runs between them.

const CELL = 5 // pixels of the grid
const BELL = 0.66 // width of a bell, as a share of the reach about a place
const EDGE = Math.exp(-1 / (2 * BELL ** 2)) // height of a bell at that reach
const LOWEST = EDGE / 20 // of a field that is looked at
const SPACING = 0.7 // widths of a bell within which several places count as one, so that crowds have no wider borders
const NECK = 0.5 // half the width of a neck, as a share of the reach
const NECK_MOST = 5 // reaches from one place to the next up to which a neck joins them

/** A path about each group of places, and the group in whose path a place lies, or -1; parts of a group that lie near each other are joined by necks. */
function contoursAbout(groups, reach) {
  const width = BELL * reach, fields = groups.map((places) => fieldOf(sourcesOf(places, reach, width), width))
  const highest = highestOf(fields)
  return { paths: fields.map((field, number) => tracedPath(field, heightsOf(field, number, highest))), groupAt: highest.groupAt }
}

/** What a field is the sum of: places, and weaker steps along the necks between them. */
function sourcesOf(places, reach, width) {
  const bin = width * SPACING, apart = [...new Map(places.map((place) => [place.map((at) => Math.round(at / bin)).join(), place])).values()]
  const weight = EDGE * Math.exp(NECK ** 2 / (2 * BELL ** 2)) / Math.sqrt(2 * Math.PI) // of steps that are a bell's width apart
  const steps = shortestTree(apart).flatMap(([from, to]) => {
    const n = Math.round(Math.hypot(to[0] - from[0], to[1] - from[1]) / width)
    if (n * width > NECK_MOST * reach) return []
    return Array.from({ length: Math.max(0, n - 1) }, (_, at) => [...from.map((start, axis) => start + ((to[axis] - start) * (at + 1)) / n), weight])
  })
  return [...apart.map((place) => [...place, 1]), ...steps]
}

/** The sum of bells on the part of the grid about them. */
function fieldOf(sources, width) {
  const far = Math.ceil((3 * width) / CELL) + 1, cells = (axis) => sources.map((source) => Math.round(source[axis] / CELL))
  const [xs, ys] = [cells(0), cells(1)], left = Math.min(...xs) - far, top = Math.min(...ys) - far
  const wide = sources.length ? Math.max(...xs) + far + 1 - left : 0, tall = sources.length ? Math.max(...ys) + far + 1 - top : 0
  const values = new Float32Array(wide * tall), bell = (apart) => Math.exp(-(apart ** 2) / (2 * width ** 2))
  sources.forEach(([px, py, weight], at) => {
    const across = Array.from({ length: 2 * far + 1 }, (_, i) => bell((xs[at] - far + i) * CELL - px))
    for (let j = -far; j <= far; j++) {
      const row = (ys[at] + j - top) * wide + xs[at] - far - left, down = weight * bell((ys[at] + j) * CELL - py)
      for (let i = 0; i <= 2 * far; i++) values[row + i] += down * across[i]
    }
  })
  return { left, top, wide, tall, values }
}

/** The two highest values at each node of the grid, and the number of the field that has the first. */
function highestOf(fields) {
  const some = fields.filter(({ wide }) => wide), left = Math.min(...some.map((field) => field.left)), top = Math.min(...some.map((field) => field.top))
  const wide = Math.max(...some.map((field) => field.left + field.wide)) - left, tall = Math.max(...some.map((field) => field.top + field.tall)) - top
  const n = some.length ? wide * tall : 0, first = new Float32Array(n), second = new Float32Array(n), owner = new Uint8Array(n)
  const startOf = (field, row) => (field.top + row - top) * wide + field.left - left
  fields.forEach((field, number) => {
    for (let row = 0; row < field.tall; row++)
      for (let at = row * field.wide, node = startOf(field, row), end = at + field.wide; at < end; at++, node++) {
        const value = field.values[at]
        if (value > first[node]) (second[node] = first[node]), (first[node] = value), (owner[node] = number)
        else if (value > second[node]) second[node] = value
      }
  })
  /** The field that is highest at a place and above the edge, or -1. */
  const groupAt = (x, y) => {
    const [across, down] = [Math.round(x / CELL) - left, Math.round(y / CELL) - top], node = down * wide + across
    return n && across >= 0 && across < wide && down >= 0 && down < tall && first[node] > EDGE ? owner[node] : -1
  }
  return { first, second, owner, startOf, groupAt }
}

/** How far a field is above the edge of an area and above all other fields: positive within its area. */
function heightsOf(field, number, { first, second, owner, startOf }) {
  const heights = new Float32Array(field.values.length)
  for (let row = 0; row < field.tall; row++)
    for (let at = row * field.wide, node = startOf(field, row), end = at + field.wide; at < end; at++, node++) {
      const value = field.values[at], rival = owner[node] === number ? second[node] : first[node]
      heights[at] = value < LOWEST ? -1 : Math.log(value / Math.max(EDGE, rival))
    }
  return heights
}

/** The smoothed line at which heights over the part of a field are zero (marching squares). */
function tracedPath({ left, top, wide, tall }, heights) {
  const next = new Map(), path = new Path2D()
  const crossing = (a, b) => {
    const share = heights[a] / (heights[a] - heights[b]), x = a % wide, y = Math.floor(a / wide)
    return [(left + x + ((b % wide) - x) * share) * CELL, (top + y + (Math.floor(b / wide) - y) * share) * CELL]
  }
  for (let y = 0; y < tall - 1; y++) for (let x = 0, at = y * wide; x < wide - 1; x++, at++) {
    const isIn = heights[at] > 0
    if (heights[at + 1] > 0 === isIn && heights[at + wide] > 0 === isIn && heights[at + wide + 1] > 0 === isIn) continue
    addSteps(next, [at, at + 1, at + wide + 1, at + wide], heights, crossing)
  }
  for (const start of [...next.keys()]) addLoop(path, loopFrom(next, start))
  return path
}

/** Add the steps of the line over a cell: it comes by a side that goes from out to in, and leaves by the next one from in to out. */
function addSteps(next, ring, heights, crossing) {
  const isIn = ring.map((node) => heights[node] > 0), ends = [0, 1, 2, 3].filter((side) => isIn[side] !== isIn[(side + 1) % 4])
  ends.forEach((side, at) => {
    if (!isIn[side]) return
    const from = ends[(at + ends.length - 1) % ends.length]
    next.set(sideKey(ring, from), { to: sideKey(ring, side), at: crossing(ring[side], ring[(side + 1) % 4]) })
  })
}

/** A number for a side of a cell: the lower node, twice, and one more if the side goes down. */
const sideKey = (ring, side) => 2 * Math.min(ring[side], ring[(side + 1) % 4]) + (side % 2)

/** The places along a line that closes, which are taken out of the steps. */
function loopFrom(next, start) {
  const places = []
  for (let step = next.get(start), key = start; step; key = step.to, step = next.get(key)) places.push(step.at), next.delete(key)
  return places
}

/** Add a round through the middles between places. */
function addLoop(path, places) {
  if (!places.length) return
  const middle = (at) => [0, 1].map((axis) => (places[at][axis] + places[(at + 1) % places.length][axis]) / 2)
  path.moveTo(...middle(places.length - 1))
  places.forEach((place, at) => path.quadraticCurveTo(...place, ...middle(at)))
  path.closePath()
}

/** The edges of the shortest tree over places (Prim, 1957). */
function shortestTree(places) {
  const edges = [], near = new Map(places.slice(1).map((place) => [place, { from: null, square: Infinity }]))
  let last = places[0]
  while (near.size) {
    let next = null
    for (const [place, known] of near) {
      const square = (place[0] - last[0]) ** 2 + (place[1] - last[1]) ** 2
      if (square < known.square) (known.square = square), (known.from = last)
      if (!next || known.square < near.get(next).square) next = place
    }
    edges.push([near.get(next).from, next])
    near.delete(next)
    last = next
  }
  return edges
}
