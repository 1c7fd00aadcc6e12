// The keyboard: it moves the map and takes the tools, and walks from point to point.

const STEP = 60 // pixels that an arrow key moves
const ARROWS = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] }
const KEYS_HELP =
  'Arrow keys move, plus and minus zoom, 0 shows all, L takes the lasso, Escape clears the selection. ' +
  'Enter goes to a point; the arrow keys then go from point to point, Space selects and Enter opens.'

function mapKeys(map, stage) {
  let isWalking = false
  const { camera, tools } = map
  const acts = {
    '+': () => camera.zoom(1.3), '=': () => camera.zoom(1.3), '-': () => camera.zoom(1 / 1.3), 0: () => (camera.fit(), map.changed()),
    Escape: () => (isWalking ? stopWalking() : map.selection.clear()),
    Enter: () => (isWalking && map.hovered != null ? map.pointer.open(map.hovered) : walk(null)),
    ' ': () => isWalking && map.selection.toggle(map.hovered), '/': () => tools.focusQuestion(), p: () => map.replay.play(), f: () => tools.full(),
    m: () => tools.take('pan'), b: () => tools.take('box'), l: () => tools.take('lasso'), // told with the next move
  }

  function press(event) {
    if (event.target !== stage || event.ctrlKey || event.metaKey) return
    const arrow = ARROWS[event.key]
    const act = arrow ? () => (isWalking ? walk(arrow) : camera.pan(...arrow)) : acts[event.key]
    if (!act) return
    act()
    event.preventDefault()
    event.stopPropagation()
  }

  // Points by keyboard: Enter takes the one amid the map, the arrows go to the next in their direction, Space selects.
  function walk(direction) {
    const { width, height, hovered } = map
    const [fx, fy] = hovered != null ? camera.where(hovered) : [width / 2, height / 2]
    let best = null, least = Infinity
    for (let i = 0; i < map.points.n; i++) {
      if (i === hovered || !map.isVisible(i)) continue
      const [px, py] = camera.where(i), dx = px - fx, dy = py - fy
      const along = direction ? -(dx * direction[0] + dy * direction[1]) / STEP : 0
      if (direction && along <= 0) continue
      const far = direction ? along + 2.5 * Math.abs(direction[0] ? dy : dx) : Math.hypot(dx, dy)
      if (far < least) (least = far), (best = i)
    }
    if (best == null) return
    isWalking = true
    const [px, py] = camera.where(best)
    if (px < 20 || py < 20 || px > width - 20 || py > height - 20) camera.pan(width / 2 - px, height / 2 - py)
    map.pointer.point(best)
  }
  const stopWalking = () => ((isWalking = false), map.pointer.point(null))

  map.on(stage, 'keydown', press)
  return { isWalking: () => isWalking }
}
