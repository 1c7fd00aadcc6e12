// Where things are: between the coordinates of the map and the pixels of the stage. `map.view` is what is looked at, and
// `map.insets` how much of each side of the stage lies under what floats over it. The axes mean nothing, so that the map is
// stretched upwards, or flattened, to fill a stage of another form.

const CAMERA_MILLISECONDS = 600
const FLATTEST = 0.75, TALLEST = 2.1 // how much the map may be stretched upwards

function mapCamera(map) {
  const toScreen = (x, y) => [map.width / 2 + (x - map.view.x) * map.view.scale, map.height / 2 - (y - map.view.y) * map.view.scale * stretch()]
  const toMap = (px, py) => [map.view.x + (px - map.width / 2) / map.view.scale, map.view.y - (py - map.height / 2) / map.view.scale / stretch()]
  const where = (i) => toScreen(map.points.xy[2 * i], map.points.xy[2 * i + 1])

  let fitted = null, flight = null
  /** How much larger a step upwards is on the stage than one aside. */
  const stretch = () => fitting().stretch

  /** The view in which a box of the map fills what is free of the stage. */
  function framing(low, high, room, most = Infinity, upwards = stretch()) {
    const { left, top, right, bottom } = map.insets
    const [across, up] = scales(low, high, room), scale = Math.min(most, across, up / upwards)
    const [px, py] = [(left - right) / 2, (top - bottom) / 2] // from the middle of the stage to that of what is free
    return { x: (low[0] + high[0]) / 2 - px / scale, y: (low[1] + high[1]) / 2 + py / scale / upwards, scale }
  }

  /** The largest scales at which a box of the map has room aside and upwards. */
  function scales(low, high, [aside, above]) {
    const { left, top, right, bottom } = map.insets
    const [w, h] = [high[0] - low[0], high[1] - low[1]].map((side) => Math.max(side, 1e-3))
    return [Math.max(map.width - left - right - aside, 60) / w, Math.max(map.height - top - bottom - above, 60) / h]
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

  /** The view of all points, and how much the map is stretched. */
  function fitting() {
    if (fitted) return fitted
    const [low, high] = bounds(Array.from({ length: map.points.n }, (_, i) => i)), room = [Math.min(70, map.width * 0.08), 80]
    const [across, up] = scales(low, high, room), stretch = Math.min(TALLEST, Math.max(FLATTEST, up / across))
    return (fitted = { stretch, view: framing(low, high, room, Infinity, stretch) })
  }

  /** The scale at which all points are seen. */
  const fittedScale = () => fitting().view.scale
  /** How much larger the points stand apart than there. */
  const magnification = () => map.view.scale / fittedScale()

  /** How large marks are: on a narrow stage points lie closer. */
  const markScale = () => Math.min(1, Math.max(0.75, (map.width - map.insets.right) / 700))

  function pointSize() {
    const crowd = Math.min(9, Math.max(0.6, 170 / Math.sqrt(map.points.n + 30))) * markScale() + 1.6
    return Math.min(13, crowd * Math.max(0.8, magnification()) ** 0.4)
  }

  function zoom(factor, px = map.width / 2, py = map.height / 2) {
    flight = null
    const least = fitting().view.scale
    const scale = Math.min(Math.max(map.view.scale * factor, least * 0.5), least * 400)
    const [x, y] = toMap(px, py)
    map.view = { x: x - (px - map.width / 2) / scale, y: y + (py - map.height / 2) / scale / stretch(), scale }
    map.changed()
  }

  function pan(dx, dy) {
    flight = null
    map.view = { ...map.view, x: map.view.x - dx / map.view.scale, y: map.view.y + dy / map.view.scale / stretch() }
    map.changed()
  }

  function fit() {
    flight = null
    map.view = fitting().view
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
    const reach = 1.1 * Math.max(radius, 1e-3)
    fly(framing([x - reach, y - reach], [x + reach, y + reach], [40, 40], fitting().view.scale * 60))
  }

  /** Fly to points: to most of them, where a few lie far from the rest. */
  function showPoints(points, share = 0.8) {
    const middle = [0, 1].map((axis) => points.map((i) => map.points.xy[2 * i + axis]).sort((one, other) => one - other)[points.length >> 1])
    const far = (i) => Math.hypot(map.points.xy[2 * i] - middle[0], map.points.xy[2 * i + 1] - middle[1])
    const near = [...points].sort((one, other) => far(one) - far(other)).slice(0, Math.max(1, Math.ceil(points.length * share)))
    fly(framing(...bounds(near), [160, 120], fitting().view.scale * 6))
  }

  const isFlying = () => flight !== null
  return { stretch, toScreen, toMap, where, fittedScale, magnification, markScale, pointSize, zoom, pan, fit, show, showPoints, isFlying, forget: () => (fitted = null) }
}
