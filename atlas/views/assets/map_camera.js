// Where things are: between the coordinates of the map and the pixels of the stage. `map.view` is what is looked at.

function mapCamera(map) {
  const toScreen = (x, y) => [map.width / 2 + (x - map.view.x) * map.view.scale, map.height / 2 - (y - map.view.y) * map.view.scale]
  const toMap = (px, py) => [map.view.x + (px - map.width / 2) / map.view.scale, map.view.y - (py - map.height / 2) / map.view.scale]
  const where = (i) => toScreen(map.points.xy[2 * i], map.points.xy[2 * i + 1])

  let fitted = null
  /** The view of all points. */
  function fitting() {
    if (fitted) return fitted
    const { xy } = map.points, low = [Infinity, Infinity], high = [-Infinity, -Infinity]
    for (let i = 0; i < xy.length; i++) {
      low[i & 1] = Math.min(low[i & 1], xy[i])
      high[i & 1] = Math.max(high[i & 1], xy[i])
    }
    const [w, h] = [high[0] - low[0], high[1] - low[1]].map((side) => Math.max(side, 1e-3))
    const scale = Math.min((map.width - 70) / w, (map.height - 90) / h)
    return (fitted = { x: (low[0] + high[0]) / 2, y: (low[1] + high[1]) / 2, scale })
  }

  /** How much larger the points stand apart than where all of them are seen. */
  const magnification = () => map.view.scale / fitting().scale

  function pointSize() {
    const crowd = Math.min(7, Math.max(0.6, 170 / Math.sqrt(map.points.n + 30))) + 1.6
    return Math.min(13, crowd * Math.max(0.8, magnification()) ** 0.4)
  }

  function zoom(factor, px = map.width / 2, py = map.height / 2) {
    const least = fitting().scale
    const scale = Math.min(Math.max(map.view.scale * factor, least * 0.5), least * 400)
    const [x, y] = toMap(px, py)
    map.view = { x: x - (px - map.width / 2) / scale, y: y + (py - map.height / 2) / scale, scale }
    map.changed()
  }

  function pan(dx, dy) {
    map.view = { ...map.view, x: map.view.x - dx / map.view.scale, y: map.view.y + dy / map.view.scale }
    map.changed()
  }

  function fit() {
    map.view = fitting()
    map.dirty()
  }

  /** Show a disc as large as it can be. */
  function show({ x, y, radius }) {
    const scale = Math.min(Math.min(map.width, map.height) / (5 * Math.max(radius, 1e-3)), fitting().scale * 60)
    map.view = { x, y, scale }
    map.changed()
  }

  return { toScreen, toMap, where, magnification, pointSize, zoom, pan, fit, show, forget: () => (fitted = null) }
}
