// The map: points that can be panned, zoomed, lassoed, filtered and asked about. Plain JavaScript, without Streamlit.
//
//   const map = mountMap(element, payload, callbacks)      null where the browser has no WebGL2
//   map.update(payload)                                    any of the layers below; what is left out stays as it is
//   map.retheme()                                          after the page's colours have changed
//   map.destroy()
//   map.look(), map.where(point)                           what it shows, and where on the stage a point lies; for tests
//
// A layer is an object of plain values and typed arrays; `unpack` makes one of the bytes that atlas/views/map/packets.py
// packs. All that names something is untrusted text, and is only ever drawn on a canvas or set as textContent.
//
//   points   { key, n, xy: Float32Array(2n), outcome: Uint8Array(n) 0 succeeded 1 failed 2 unknown,
//              day: Uint16Array(n) from `first_day`, first_day: '2026-03-01', n_days, label,
//              moments: [text …] at even distances; then `day` is a place in time, and not a day }
//   colours  { points, title, domains: whether the colours are about domains, category: Uint8Array(n),
//              entries: [{ name, n, colour | shade, hollow, label }] }   at most 64 entries; label: its place in `labels`
//              colour: place in the theme's categorical colours, -1 for grey, -2 for red, -3 for neutral; shade: in [0, 1], a place on a ramp
//              labels: [{ x, y, radius, number, name, note, colour }] of the domains, the worst three first, then the largest; colour may be null
//              legend: [place of an entry …] in their order, heading; an entry's rate as text
//              label_of: Uint8Array(n) the label of each point, 255 for none
//   marks    { points, asked: the question's text, shown, chosen: bit masks in base64 or null, hits: [point …] best first, query: [x, y] or null,
//              opened: point or null, neighbours: [point …], start: what `onView` gave when the person was here last,
//              focus: { x, y, radius, turn } to be shown large, as soon as `turn` is another one }
//   talk     { points, point, lines: [text …], titles: [[point, text] …] }   the answers to onHover and onTitles; point may be null
//   pulse    what agents do just now: see map_pulse.js
//
// Callbacks, each optional:
//   onSelect({ points, mask, mode: 'replace' | 'add' | 'remove', how: 'lasso' | 'box' | 'keys' | 'clear' })   mask in base64
//   onAsk({ text })    onFull()    onLegend({ height }) of the open one    onDomain({ number })    onOpen({ points, point })    onHover({ points, point })    onTitles({ points, wanted: [point …] })
//   onView({ x, y, scale, tool, days, first_day, hidden, lasso })
//
// Each map_*.js beside this holds one part. A part is made with the map, on which it finds what all parts share and one another.

const ABOUT = 'Each mark is an attempt. Similar tasks lie near each other. Directions and gaps between groups mean little.'
const VIEW_MILLISECONDS = 500
const LEGEND_ROW = 40 // pixels of the legend while it is folded, with what lies around it

/** What all parts share: the layers, what is looked at, and listeners, frames and timers that end with the map. */
function sharedMap(callbacks) {
  const life = new AbortController()
  const alive = (act) => () => life.signal.aborted || act()
  return {
    callbacks,
    points: null, colours: null, marks: {}, theme: null,
    shown: null, hidden: new Set(), days: [0, OPEN_END], // by which points are left out
    view: { x: 0, y: 0, scale: 0 }, width: 1, height: 1, ratio: 1,
    covered: [], // boxes on the stage that tools lie over
    insets: { left: 0, top: 0, right: 0, bottom: 0 }, // of the stage, under what floats over it
    tool: 'pan', drag: null, lasso: null, hovered: null,
    on: (target, event, act, options) => target.addEventListener(event, act, { signal: life.signal, ...options }),
    frame: (act) => requestAnimationFrame(alive(act)),
    later: (act, milliseconds) => setTimeout(alive(act), milliseconds),
    end: () => life.abort(),
    isVisible(i) {
      const { shown, hidden, days, points, colours } = this
      return (!shown || bit(shown, i)) && !hidden.has(colours.category[i]) && points.day[i] >= days[0] && points.day[i] <= days[1]
    },
  }
}

function mountMap(element, payload, callbacks = {}) {
  const root = make('div', 'atlas-map', element)
  const sheet = make('div', 'sheet', root), stage = make('div', 'stage', sheet)
  const canvas = make('canvas', 'points', stage), surface = make('canvas', 'overlay', stage)
  const renderer = pointRenderer(canvas)
  if (!renderer) return root.remove(), null
  const tooltip = make('div', 'tooltip', stage), said = make('div', 'said', stage), ticker = make('div', 'ticker', stage)
  const about = make('div', 'about', stage, ABOUT)
  said.setAttribute('role', 'status')
  ticker.setAttribute('role', 'log')
  tooltip.setAttribute('aria-live', 'polite')
  tooltip.hidden = true
  stage.tabIndex = 0
  stage.setAttribute('role', 'application')

  const map = sharedMap(callbacks)
  map.isVisible = map.isVisible.bind(map)
  let isDirty = false, isTouched = false, telling = null, turn = null
  Object.assign(map, { dirty, changed, measure })
  map.camera = mapCamera(map)
  map.overlay = mapOverlay(map, surface)
  map.tools = mapTools(map, root, stage, surface)
  map.marked = mapMarks(map)
  map.selection = mapSelection(map, renderer, said)
  map.areas = mapAreas(map)
  map.labels = mapLabels(map)
  map.titles = mapTitles(map)
  map.pulse = livePulse(map, ticker)
  map.pointer = mapPointer(map, surface, tooltip)
  const foot = make('div', 'foot', sheet), legend = make('div', 'legend', foot), brush = make('div', 'brush', foot)
  map.legend = mapLegend(map, legend)
  map.daybook = mapDays(map, brush)
  map.replay = mapReplay(map)
  map.keys = mapKeys(map, stage)

  // ---- drawing ---------------------------------------------------------------------------------------------------

  function dirty() {
    if (isDirty) return
    isDirty = true
    map.frame(() => ((isDirty = false), map.points && map.colours && map.width > 1 && draw()))
  }

  function draw() {
    const { theme, view, width, height, ratio, days, hidden, marks, overlay, camera } = map
    const ring = [...theme.ground, 1], faint = [...theme.grey, map.replay.isPlaying() ? 0 : 0.22] // what is not there yet is not to be seen at all
    const bold = [...theme.text, map.colours.domains ? (theme.isDark ? 0.25 : 0.45) : 0] // other colours have a scale, which stays as it is
    const someOut = map.shown || hidden.size || days[0] > 0 || days[1] < OPEN_END
    const someChosen = map.selection.n() > 0, someHit = Boolean(marks.hits?.length), size = camera.pointSize()
    renderer.draw({ view, stretch: camera.stretch(), width, height, ratio, size, days, palette: paletteOf(map), faint, ring, bold, someOut, someChosen, someHit })
    overlay.wipe()
    map.areas.draw()
    map.marked.draw()
    map.pulse.draw()
    map.titles.draw(map.labels.draw())
    for (const i of [map.hovered, marks.opened]) if (i != null && i < map.points.n) overlay.ring(i, size / 2 + 4, theme.text, 2)
    overlay.drawOutline()
  }

  /** Say that the person looks at something else now. It is told once they have come to rest. */
  function changed() {
    dirty()
    tooltip.hidden = true
    isTouched = true
    clearTimeout(telling)
    telling = map.later(tellView, VIEW_MILLISECONDS)
  }

  /** Tell what is seen once more where the page, which ran when it was told, does not know it. */
  function tellAgain(held) {
    const { x, y, scale } = map.view
    const isHeld = held?.x === x && held.y === y && held.scale === scale && held.tool === map.tool
    if (isTouched && !isHeld && telling === null) tellView()
  }

  function tellView() {
    telling = null
    const { view, tool, days, points, lasso } = map
    callbacks.onView?.({ ...view, tool, days, first_day: points?.first_day, hidden: map.legend.hiddenNames(), lasso })
  }

  // ---- what comes from outside -----------------------------------------------------------------------------------

  function takePoints(layer) {
    if (map.points?.key === layer.key) return // the bytes come again with every run of the page; they are looked at once
    map.days = map.daybook.same(map.days, map.points?.first_day, layer.first_day)
    map.points = layer
    map.pointer.forget()
    map.titles.forget()
    map.camera.forget()
    map.hovered = null
    map.shown = null
    for (const name of ['xy', 'outcome', 'day']) renderer.fill(name, layer[name])
    stage.setAttribute('aria-label', `${layer.label} ${KEYS_HELP}`)
    map.selection.carry()
    if (map.colours) takeColours(map.colours)
    map.daybook.draw()
    measure()
    if (!map.view.scale && map.width > 1) map.camera.fit()
  }

  function takeColours(layer) {
    const names = map.colours?.title === layer.title ? map.legend.hiddenNames() : []
    const namesOf = (of) => JSON.stringify(of?.labels.map((label) => label.name))
    if (namesOf(layer) !== namesOf(map.colours)) map.pointer.forget() // a domain may have been renamed
    const n = map.points?.n ?? 0
    const category = layer.category.length === n ? layer.category : new Uint8Array(n).map((_, i) => layer.category[i] ?? 0)
    map.colours = { ...layer, category }
    map.legend.hideNames(names)
    if (map.points) renderer.fill('category', category), map.legend.draw()
  }

  function takeMarks(layer) {
    map.marks = layer
    map.marked.begin(layer)
    map.shown = toMask(layer.shown)
    if (layer.chosen !== undefined) map.selection.choose(toMask(layer.chosen))
    else map.selection.refill()
    if (!isTouched && layer.start) start(layer.start)
    else tellAgain(layer.start)
    if (layer.focus && turn !== null && layer.focus.turn !== turn) map.camera.show(layer.focus)
    turn = layer.focus?.turn ?? 0
  }

  /** Show what the person saw when last here. */
  function start({ x, y, scale, tool, days, first_day: before, hidden: names, lasso }) {
    map.view = { x, y, scale }
    isTouched = true
    map.days = days ? map.daybook.same(days, before, map.points?.first_day) : map.days
    map.lasso = map.selection.n() ? lasso : null
    map.legend.hideNames(names ?? [])
    map.tools.take(tool)
    map.legend.draw()
    map.daybook.draw()
  }

  function takeTalk({ point, lines, titles }) {
    if (point != null) map.pointer.take(point, lines)
    map.titles.take(titles ?? [])
  }

  let waiting = null // marks that came before what they are drawn over
  function update({ points, colours, marks, talk, pulse }) {
    if (points) takePoints(points)
    if (colours) takeColours(colours)
    waiting = marks ?? waiting
    if (waiting && map.colours && waiting.points === map.points?.key) {
      takeMarks(waiting)
      waiting = null
    }
    if (talk && talk.points === map.points?.key) takeTalk(talk)
    if (pulse && pulse.points === map.points?.key) map.pulse.take(pulse)
    dirty()
  }

  function resize() {
    const box = stage.getBoundingClientRect()
    if (box.width < 2) return
    Object.assign(map, { width: box.width, height: box.height, ratio: Math.min(devicePixelRatio || 1, 2) })
    for (const one of [canvas, surface]) (one.width = map.width * map.ratio), (one.height = map.height * map.ratio)
    measure()
    if (map.points && !isTouched) map.camera.fit(), map.labels.forget() // all of it, as long as nobody has looked closer: the window gives the map its size late
    dirty()
  }

  // An open legend hides more of the map for a while, and moves nothing.
  function measure() {
    const right = parseFloat(getComputedStyle(root).getPropertyValue('--atlas-panel-room')) || 0
    const bottom = LEGEND_ROW + (brush.hidden ? 0 : brush.offsetHeight), { width, height } = map
    map.insets = { left: map.tools.edge(), top: 72, right, bottom }
    const count = [width - right - 120, 36, width - right, 62] // where the number of the selected stands
    map.covered = [...map.tools.boxes(), boxOf(about), count, [width - right, 0, width, height], [0, height - bottom, width, height]]
    map.camera.forget()
    dirty()
  }

  function retheme() {
    map.theme = readTheme(root, map.overlay.pen)
    if (map.points && map.colours) map.legend.draw(), map.daybook.draw()
    measure()
  }

  map.on(canvas, 'webglcontextrestored', dirty)
  const watcher = new ResizeObserver(resize)
  watcher.observe(stage)
  map.tools.take('pan')
  retheme()
  resize()
  update(payload)

  function destroy() {
    map.end()
    watcher.disconnect()
    renderer.free()
    root.remove()
  }

  function look() {
    const { view, tool, days, hidden, hovered, width, height, points } = map
    return {
      ...map.marked.look(), isPlaying: map.replay.isPlaying(), isWalking: map.keys.isWalking(),
      key: points?.key, n: points?.n, nChosen: map.selection.n(), view, tool, days, hidden: [...hidden], hovered, width, height,
      nPulsing: map.pulse.n(), titles: map.titles.look(), labels: map.labels.look(), insets: map.insets, isMoving: map.labels.isFollowing(),
      nPlacements: map.labels.nPlacements(),
      isTelling: telling !== null,
    }
  }
  return { update, retheme, destroy, look, where: map.camera.where }
}
