// The mouse: it moves the map, draws lassos and boxes, opens a point, and is told of the one that it is over.

const HOVER_MILLISECONDS = 120
const REACH = 9 // pixels from a point at which it is meant

function mapPointer(map, surface, tooltip) {
  const texts = new Map()
  let asking = 0

  function nearest(px, py) {
    const [x, y] = map.camera.toMap(px, py), { n, xy } = map.points, stretch = map.camera.stretch()
    let best = null, least = ((REACH + map.camera.pointSize() / 2) / map.view.scale) ** 2
    for (let i = 0; i < n; i++) {
      const square = (xy[2 * i] - x) ** 2 + ((xy[2 * i + 1] - y) * stretch) ** 2
      if (square < least && map.isVisible(i)) (least = square), (best = i)
    }
    return best
  }

  const at = (event) => {
    const box = surface.getBoundingClientRect()
    return [event.clientX - box.left, event.clientY - box.top]
  }
  const cursorOf = () => (map.tool === 'pan' ? 'grab' : 'crosshair')
  const modeOf = (event) => (event.altKey ? 'remove' : event.shiftKey ? 'add' : 'replace')

  function press(event) {
    if (event.button !== 0 || !map.points) return
    surface.setPointerCapture(event.pointerId)
    const how = map.tool === 'pan' && (event.shiftKey || event.altKey) ? 'lasso' : map.tool // a lasso is at hand in every tool
    map.drag = { how, from: at(event), last: at(event), moved: false, mode: modeOf(event), outline: null }
    point(null)
  }

  function move(event) {
    const [px, py] = at(event), { drag } = map
    if (!map.points || !drag) return map.points && over(event, px, py)
    if (!drag.moved && Math.hypot(px - drag.from[0], py - drag.from[1]) < 4) return
    drag.moved = true
    const [fx, fy] = drag.from, [lx, ly] = drag.last
    if (drag.how === 'pan') map.camera.pan(px - lx, py - ly)
    else if (drag.how === 'box') drag.outline = [[fx, fy], [px, fy], [px, py], [fx, py]]
    else if (!drag.outline) drag.outline = [[fx, fy], [px, py]]
    else if (Math.hypot(px - lx, py - ly) >= 3) drag.outline.push([px, py])
    else return
    drag.last = [px, py]
    map.dirty()
  }

  function over(event, px, py) {
    point(event.pointerType === 'touch' ? null : nearest(px, py))
    const domain = map.hovered == null ? map.labels.at(px, py) : undefined
    map.areas.mark(domain)
    if (map.hovered == null) surface.style.cursor = domain !== undefined ? 'pointer' : cursorOf()
  }

  function release() {
    if (!map.drag) return
    const { moved, outline, mode, how, from } = map.drag
    map.drag = null
    if (!moved) click(...from)
    else if (outline?.length > 2) map.selection.within(outline.map(([px, py]) => map.camera.toMap(px, py)), mode, how)
    map.dirty()
  }

  // A name that lies over points is the one that is meant only where no point is near.
  function click(px, py) {
    const found = nearest(px, py), domain = map.labels.at(px, py)
    if (found != null) open(found)
    else if (domain !== undefined) map.labels.open(domain)
  }

  function open(found) {
    map.marks = { ...map.marks, opened: found, neighbours: [] }
    map.callbacks.onOpen?.({ points: map.points.key, point: found })
  }

  /** Take a point for the one that is meant, and have it told of. Null for none. */
  function point(i) {
    if (i === map.hovered) return
    map.hovered = i
    clearTimeout(asking)
    surface.style.cursor = i != null ? 'pointer' : cursorOf()
    if (i == null) tooltip.hidden = true
    else if (texts.has(i)) tell(i)
    else {
      tooltip.hidden = true
      asking = map.later(() => map.callbacks.onHover?.({ points: map.points.key, point: i }), HOVER_MILLISECONDS)
    }
    map.dirty()
  }

  function tell(i) {
    tooltip.replaceChildren(...texts.get(i).map((line) => make('div', 'line', null, line)))
    tooltip.hidden = false
    const [px, py] = map.camera.where(i)
    const left = Math.max(8, Math.min(px - tooltip.offsetWidth / 2, map.width - map.insets.right - tooltip.offsetWidth - 8))
    const above = py - tooltip.offsetHeight - 14
    tooltip.style.transform = `translate(${left}px, ${above > 4 ? above : py + 16}px)`
  }

  function take(i, lines) {
    texts.set(i, lines)
    if (i === map.hovered) tell(i)
  }

  const wheel = (event) => (event.preventDefault(), map.camera.zoom(Math.exp(-event.deltaY * 0.0015), ...at(event)))
  map.on(surface, 'pointerdown', press)
  map.on(surface, 'pointermove', move)
  map.on(surface, 'pointerup', release)
  map.on(surface, 'pointercancel', () => ((map.drag = null), map.dirty()))
  map.on(surface, 'pointerleave', () => (point(null), map.areas.mark(undefined)))
  map.on(surface, 'dblclick', (event) => map.camera.zoom(2, ...at(event)))
  map.on(surface, 'wheel', wheel, { passive: false })
  return { point, open, take, forget: () => texts.clear() }
}
