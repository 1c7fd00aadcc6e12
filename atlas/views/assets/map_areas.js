// The areas of the domains: those of weak ones are shaded, the others are outlined. An area is one piece: a narrow neck joins
// parts that lie apart.

const WEAK_PIXELS = 20, OTHER_PIXELS = 17, NECK_PIXELS = 4 // reach about a point of a weak domain and of another one, and half the width of a neck
const WEAK_STRENGTH = 0.13, WEAK_STRENGTH_ON_DARK = 0.22, OTHER_STRENGTH = 0.07, MARKED_STRENGTH = 0.2 // opacities
const OTHER_LINE = 0.8, WEAK_LINE = 0.85 // opacities of the lines about them
const AREA_MOST = 3000 // points of domains up to which they have areas

function mapAreas(map) {
  let members = null, necks = null, marked
  const closer = () => Math.max(1, map.camera.magnification())
  const reach = (isWeak) => (isWeak ? WEAK_PIXELS : OTHER_PIXELS) * closer() * map.camera.markScale()

  /** All points of each domain, in the order of the labels. */
  function membersNow() {
    const { label_of, labels } = map.colours
    if (members?.of !== label_of) {
      members = { of: label_of, lists: labels.map(() => []) }
      label_of?.forEach((place, i) => members.lists[place]?.push(i))
    }
    return members.lists
  }

  /** The necks of each domain: pairs of points, those of its shortest tree. */
  function necksNow() {
    const lists = membersNow(), { points } = map
    if (necks?.of !== lists || necks.key !== points.key) necks = { of: lists, key: points.key, lists: lists.map((list) => shortestTree(list, points.xy)) }
    return necks.lists
  }

  const hasAreas = () => map.colours.domains && membersNow().reduce((n, list) => n + list.length, 0) <= AREA_MOST
  /** The points of weak domains that are to be seen. None where these have no area. */
  const weakPoints = () => (hasAreas() ? membersNow().flatMap((list, place) => (map.colours.labels[place].weak ? list.filter(map.isVisible) : [])) : [])

  /** Draw them. Outlines are only for domains that no colour tells apart. Amid a domain its area would tint all. */
  function draw() {
    const { theme, colours } = map, share = Math.min(1, 3 - closer())
    if (share <= 0 || !hasAreas()) return
    const isDrawn = ({ weak, colour, number }) => weak || colour == null || number === marked
    const inOrder = [...colours.labels.keys()].filter((place) => isDrawn(colours.labels[place])).sort((one, other) => rankOf(one) - rankOf(other))
    for (const place of inOrder) {
      const { weak, number } = colours.labels[place], isMarked = number === marked
      const strength = weak ? (theme.isDark ? WEAK_STRENGTH_ON_DARK : WEAK_STRENGTH) : isMarked ? MARKED_STRENGTH : OTHER_STRENGTH
      const line = weak || isMarked ? WEAK_LINE : OTHER_LINE
      drawArea(place, weak ? theme.red : theme.isDark ? theme.neutral : theme.grey, strength * share, line * share)
    }
  }

  /** Weak ones lie over others, and the marked one over all. */
  const rankOf = (place) => (map.colours.labels[place].number === marked ? 2 : map.colours.labels[place].weak ? 1 : 0)

  function drawArea(place, rgb, strength, line) {
    const where = map.camera.where, places = membersNow()[place].filter(map.isVisible).map(where)
    const bands = necksNow()[place].filter((ends) => ends.every(map.isVisible)).map((ends) => ends.map(where))
    map.overlay.shade(places, bands, reach(map.colours.labels[place].weak), NECK_PIXELS * closer(), rgb, strength, line)
  }

  /** Mark the area of a domain, whose name the mouse is over. Undefined for none. */
  function mark(number) {
    if (number === marked) return
    marked = number
    map.dirty()
  }

  return { draw, mark, reach, weakPoints, members: membersNow }
}

/** The edges of the shortest tree over points (Prim, 1957). */
function shortestTree(list, xy) {
  const edges = [], left = new Set(list.slice(1)), near = new Map(list.map((i) => [i, { from: list[0], square: Infinity }]))
  let last = list[0]
  while (left.size) {
    let next = null
    for (const i of left) {
      const square = (xy[2 * i] - xy[2 * last]) ** 2 + (xy[2 * i + 1] - xy[2 * last + 1]) ** 2, known = near.get(i)
      if (square < known.square) (known.square = square), (known.from = last)
      if (next === null || known.square < near.get(next).square) next = i
    }
    edges.push([near.get(next).from, next])
    left.delete(next)
    last = next
  }
  return edges
}
