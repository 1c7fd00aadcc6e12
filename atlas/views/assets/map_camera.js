// Where things are: between the coordinates of the map and the pixels of the stage. `map.view` is what is looked at, and
// `map.insets` how much of each side of the stage lies under what floats over it.

const CAMERA_MILLISECONDS = 600

function mapCamera(map) {
  const toScreen = (x, y) => [map.width / 2 + (x - map.view.x) * map.view.scale, map.height / 2 - (y - map.view.y) * map.view.scale]
  const toMap = (px, py) => [map.view.x + (px - map.width / 2) / map.view.scale, map.view.y - (py - map.height / 2) / map.view.scale]
  const where = (i) => toScreen(map.points.xy[2 * i], map.points.xy[2 * i + 1])

  let fitted = null, flight = null
  /** The view in which a box of the map fills what is free of the stage. */
  function framing(low, high, [aside, above], most = Infinity) {
    const { left, top, right, bottom } = map.insets
    const [wide, tall] = [map.width - left - right, map.height - top - bottom]
    const [w, h] = [high[0] - low[0], high[1] - low[1]].map((side) => Math.max(side, 1e-3))
    const scale = Math.min(most, Math.max(wide - aside, 60) / w, Math.max(tall - above, 60) / h)
    const [px, py] = [left + wide / 2 - map.width / 2, top + tall / 2 - map.height / 2]
    return { x: (low[0] + high[0]) / 2 - px / scale, y: (low[1] + high[1]) / 2 + py / scale, scale }
  }

  function bounds(points) {
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity]
    for (const i of points)
      for (const axis of [0, 1]) {
        low[axis] = Math.min(low[axis], map.points.xy[2 * i + axis])
        high[axis] = Math.max(high[axis], map.points.xy[2 * i + axis])
      }
    return [low, high]
  }

  /** The view of all points. */
  const fitting = () => (fitted ??= framing(...bounds(Array.from({ length: map.points.n }, (_, i) => i)), [Math.min(70, map.width * 0.08), 80]))

  /** How much larger the points stand apart than where all of them are seen. */
  const magnification = () => map.view.scale / fitting().scale

  function pointSize() {
    const room = Math.min(1, Math.max(0.75, (map.width - map.insets.right) / 700)) // on a narrow stage points lie closer
    const crowd = Math.min(7, Math.max(0.6, 170 / Math.sqrt(map.points.n + 30))) * room + 1.6
    return Math.min(13, crowd * Math.max(0.8, magnification()) ** 0.4)
  }

  function zoom(factor, px = map.width / 2, py = map.height / 2) {
    flight = null
    const least = fitting().scale
    const scale = Math.min(Math.max(map.view.scale * factor, least * 0.5), least * 400)
    const [x, y] = toMap(px, py)
    map.view = { x: x - (px - map.width / 2) / scale, y: y + (py - map.height / 2) / scale, scale }
    map.changed()
  }

  function pan(dx, dy) {
    flight = null
    map.view = { ...map.view, x: map.view.x - dx / map.view.scale, y: map.view.y + dy / map.view.scale }
    map.changed()
  }

  function fit() {
    flight = null
    map.view = fitting()
    map.dirty()
  }

  /** Move to a view, so that one sees where it lies. */
  function fly(view) {
    flight = isCalm() ? null : { from: map.view, to: view, since: performance.now() }
    if (!flight) (map.view = view), map.changed()
    else advance(flight)
  }

  function advance(mine) {
    if (flight !== mine) return
    const share = Math.min(1, (performance.now() - mine.since) / CAMERA_MILLISECONDS), eased = 1 - (1 - share) ** 3
    const between = (one, other) => one + (other - one) * eased
    const { from, to } = mine
    map.view = share === 1 ? to : { x: between(from.x, to.x), y: between(from.y, to.y), scale: from.scale * (to.scale / from.scale) ** eased }
    if (share === 1) flight = null
    else map.frame(() => advance(mine))
    map.changed()
  }

  /** Fly to a domain. */
  const show = ({ x, y, radius }) => {
    const reach = 2.2 * Math.max(radius, 1e-3)
    fly(framing([x - reach, y - reach], [x + reach, y + reach], [40, 40], fitting().scale * 60))
  }

  /** Fly to points: to most of them, where a few lie far from the rest. */
  function showPoints(points, share = 0.8) {
    const middle = [0, 1].map((axis) => points.map((i) => map.points.xy[2 * i + axis]).sort((one, other) => one - other)[points.length >> 1])
    const far = (i) => Math.hypot(map.points.xy[2 * i] - middle[0], map.points.xy[2 * i + 1] - middle[1])
    const near = [...points].sort((one, other) => far(one) - far(other)).slice(0, Math.max(1, Math.ceil(points.length * share)))
    fly(framing(...bounds(near), [160, 120], fitting().scale * 6))
  }

  const isFlying = () => flight !== null
  return { toScreen, toMap, where, magnification, pointSize, zoom, pan, fit, show, showPoints, isFlying, forget: () => (fitted = null) }
}
