// The areas of the domains: those of weak ones are shaded in red, the others are outlined faintly. They are drawn once for
// the map as a whole (map_contours.js), and move with it.

const REACH_PIXELS = 19 // about a point, where all of the map is seen
const GAP_PIXELS = 2.5 // from the border of an area to its line, so that neighbours stand apart
const WEAK_STRENGTH = 0.13, WEAK_STRENGTH_ON_DARK = 0.2, OTHER_STRENGTH = 0.07, OTHER_STRENGTH_ON_DARK = 0.13, MARKED_STRENGTH = 0.2 // opacities
const WEAK_LINE = 0.85, OTHER_LINE = 0.75 // opacities of the lines about them
const CLOSE_LINE = 0.5 // share of that opacity that is left from close by
const AREA_MOST = 3000 // points of domains up to which they have areas

function mapAreas(map) {
  let members = null, drawn = null, marked

  /** All points of each domain, in the order of the labels. */
  function membersNow() {
    const { label_of, labels } = map.colours
    if (members?.of !== label_of) {
      members = { of: label_of, lists: labels.map(() => []) }
      label_of?.forEach((place, i) => members.lists[place]?.push(i))
    }
    return members.lists
  }

  const hasContours = () => membersNow().reduce((n, list) => n + list.length, 0) <= AREA_MOST
  const hasAreas = () => map.colours.domains && hasContours()
  const isOutlined = ({ weak, colour }) => !weak && colour == null // where no colour tells it apart
  /** Which areas there are, for the legend. */
  const kinds = () => (hasAreas() ? { outlined: map.colours.labels.some(isOutlined), weak: map.colours.labels.some(({ weak }) => weak) } : {})

  /** The contours of the domains, in pixels from the origin of the map where all of it is seen. */
  function contoursNow() {
    const { camera, points, hidden, days, marks } = map, scale = camera.fittedScale(), upwards = scale * camera.stretch()
    const lists = membersNow(), size = camera.markScale(), key = [points.key, scale, upwards, size, [...hidden], days, marks.shown].join()
    if (drawn?.of !== lists || drawn.key !== key) {
      const place = (i) => [points.xy[2 * i] * scale, -points.xy[2 * i + 1] * upwards]
      const places = lists.map((list) => list.filter(map.isVisible).map(place))
      drawn = { of: lists, key, contours: contoursAbout(places, REACH_PIXELS * size) }
    }
    return drawn.contours
  }

  /** What finds the domain in whose area a place on the stage lies: its place among the labels, or -1. Null where there are too many points for areas. */
  function finder() {
    if (!hasContours()) return null
    const { groupAt } = contoursNow(), [left, top] = map.camera.toScreen(0, 0), factor = map.camera.magnification()
    return (px, py) => groupAt((px - left) / factor, (py - top) / factor)
  }

  /** Draw them. Amid a domain its area would tint all, so that only the lines about areas are seen from close by. */
  function draw() {
    const { theme, colours, camera } = map, share = Math.min(1, Math.max(0, 3 - camera.magnification()))
    if (!hasAreas()) return
    contoursNow().paths.forEach((path, place) => {
      const label = colours.labels[place], isMarked = label.number === marked
      if (!label.weak && !isMarked && !isOutlined(label)) return
      const strength = label.weak ? (theme.isDark ? WEAK_STRENGTH_ON_DARK : WEAK_STRENGTH) : isMarked ? MARKED_STRENGTH : theme.isDark ? OTHER_STRENGTH_ON_DARK : OTHER_STRENGTH
      const line = label.weak || isMarked ? WEAK_LINE : OTHER_LINE
      map.overlay.shade(path, camera.magnification(), camera.toScreen(0, 0), GAP_PIXELS, label.weak ? theme.red : theme.grey, strength * share, line * Math.max(share, CLOSE_LINE))
    })
  }

  /** Mark the area of a domain, whose name the mouse is over. Undefined for none. */
  function mark(number) {
    if (number === marked) return
    marked = number
    map.dirty()
  }

  return { draw, mark, kinds, finder }
}
