// What is selected, and the flags by which the renderer knows each point: 1 in scope, 2 selected, 4 a hit that is lit.

function isInside(polygon, x, y) {
  let inside = false
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [ax, ay] = polygon[i], [bx, by] = polygon[j]
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside
  }
  return inside
}

function mapSelection(map, renderer, said) {
  let flags = new Uint8Array(0), chosen = new Uint8Array(0), nChosen = 0
  const bytes = () => (map.points.n + 7) >> 3
  const tell = (mask, mode, how) => map.callbacks.onSelect?.({ points: map.points.key, mask: fromMask(mask), mode, how })

  function within(polygon, mode, how) {
    const mask = new Uint8Array(bytes()), { n, xy } = map.points
    const xs = polygon.map((corner) => corner[0]), ys = polygon.map((corner) => corner[1])
    const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]
    for (let i = 0; i < n; i++) {
      const x = xy[2 * i], y = xy[2 * i + 1]
      if (x < box[0] || x > box[2] || y < box[1] || y > box[3] || !map.isVisible(i)) continue
      if (isInside(polygon, x, y)) mask[i >> 3] |= 1 << (i & 7)
    }
    const before = mode === 'replace' ? new Uint8Array(mask.length) : chosen
    choose(mask.map((byte, i) => (mode === 'remove' ? before[i] & ~byte : (before[i] ?? 0) | byte)))
    map.lasso = polygon
    tell(mask, mode, how)
    map.changed()
  }

  function toggle(i) {
    if (i == null) return
    const mask = new Uint8Array(bytes()), mode = bit(chosen, i) ? 'remove' : 'add'
    mask[i >> 3] |= 1 << (i & 7)
    choose(chosen.map((byte, at) => (mode === 'add' ? byte | mask[at] : byte & ~mask[at])))
    tell(mask, mode, 'keys')
  }

  function choose(mask) {
    chosen = mask ?? new Uint8Array(bytes())
    nChosen = 0
    for (let i = 0; i < map.points.n; i++) nChosen += bit(chosen, i)
    if (!nChosen) map.lasso = null
    map.tools.tellSelection(nChosen)
    said.textContent = nChosen ? `${nChosen.toLocaleString('en')} selected` : ''
    refill()
  }

  function clear() {
    if (map.drag) return (map.drag = null), map.dirty()
    if (!nChosen && !map.lasso) return
    choose(null)
    tell(new Uint8Array(0), 'replace', 'clear')
    map.changed()
  }

  /** Keep what is selected where other points have come. */
  function carry() {
    chosen = Uint8Array.from({ length: bytes() }, (_, i) => chosen[i] ?? 0)
    refill()
  }

  function refill() {
    const { n } = map.points
    if (flags.length !== n) flags = new Uint8Array(n)
    for (let i = 0; i < n; i++) flags[i] = (!map.shown || bit(map.shown, i) ? 1 : 0) | (bit(chosen, i) << 1)
    light(map.marked.lit())
    map.dirty()
  }

  function light(hits) {
    for (const i of hits) flags[i] |= 4
    renderer.fill('flags', flags)
  }

  return { within, toggle, choose, clear, carry, refill, light, n: () => nChosen }
}
