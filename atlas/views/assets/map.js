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
//              day: Uint16Array(n) from `first_day`, first_day: '2026-03-01', n_days, label }
//   colours  { points, title, category: Uint8Array(n), entries: [{ name, n, colour | shade }] }   at most 64 entries
//              colour: place in the theme's categorical colours, -1 for grey; shade: in [0, 1], a place on a ramp
//              labels: [{ x, y, radius, name, note, colour }] of the domains, largest first; colour may be null
//   marks    { points, shown, chosen: bit masks in base64 or null, hits: [point …] best first, query: [x, y] or null,
//              opened: point or null, neighbours: [point …], start: what `onView` gave when the person was here last,
//              focus: { x, y, radius, turn } to be shown large, as soon as `turn` is another one }
//   talk     { points, point, lines: [text …] }
//
// Callbacks, each optional:
//   onSelect({ points, mask, mode: 'replace' | 'add' | 'remove', how: 'lasso' | 'box' | 'clear' })   mask in base64
//   onOpen({ points, point })    onHover({ points, point })    onView({ x, y, scale, tool, days, first_day, hidden, lasso })

const BLUE_TO_GREY = ['#2f6fb0', '#c8662b', '#2e8b74', '#8a63a8', '#a8892a', '#5b7083', '#b5527a', '#5a8f3c']
const SHAPES = ['●', '✕', '◆'] // succeeded, failed, unknown
const TOOLS = { pan: 'Move (M)', box: 'Select a box (B)', lasso: 'Select with a lasso (L)' }
const SIGNS = { // paths in a square of 16
  pan: 'M8 1v14M1 8h14M6 3l2-2 2 2M6 13l2 2 2-2M3 6L1 8l2 2M13 6l2 2-2 2', box: 'M2 3h12v10H2z',
  lasso: 'M8 2c3.5 0 6 1.700 6 4s-2.500 4-6 4-6-1.700-6-4 2.500-4 6-4M5 9.500c-1 2 0 3 1 3.500s1 1.500 0 2.500',
  plus: 'M8 3v10M3 8h10', minus: 'M3 8h10', all: 'M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4', clear: 'M4 4l8 8M12 4l-8 8',
}
const HOVER_MILLISECONDS = 120
const VIEW_MILLISECONDS = 500
const REACH = 9 // pixels from a point at which it is meant
const STEP = 60 // pixels that an arrow key moves

/** A layer from its bytes: length of the JSON as uint32, the JSON, and the arrays that it lists. */
function unpack(bytes) {
  const whole = bytes.slice().buffer // copied, because arrays of floats must begin at a multiple of four
  const length = new DataView(whole).getUint32(0, true)
  const { arrays, ...layer } = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)))
  const kinds = { f4: Float32Array, u2: Uint16Array, u1: Uint8Array }
  for (const [name, kind, start, n] of arrays) layer[name] = new kinds[kind](whole, start, n)
  return layer
}

const bit = (mask, i) => (mask[i >> 3] >> (i & 7)) & 1
const toMask = (text) => text && Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
function fromMask(mask) {
  let text = ''
  for (let i = 0; i < mask.length; i += 8192) text += String.fromCharCode(...mask.subarray(i, i + 8192))
  return btoa(text)
}

function mountMap(element, payload, callbacks = {}) {
  const make = (tag, name, parent, text = '') => {
    const made = document.createElement(tag)
    made.className = name
    made.textContent = text
    parent?.append(made)
    return made
  }
  const root = make('div', 'atlas-map', element)
  const stage = make('div', 'stage', root)
  const canvas = make('canvas', 'points', stage)
  const overlay = make('canvas', 'overlay', stage)
  const renderer = pointRenderer(canvas)
  if (!renderer) return root.remove(), null
  const pen = overlay.getContext('2d')
  const tooltip = make('div', 'tooltip', stage)
  const bar = make('div', 'tools', stage)
  const said = make('div', 'said', stage)
  said.setAttribute('role', 'status')
  const legend = make('div', 'legend', root)
  const brush = make('div', 'brush', root)
  stage.tabIndex = 0
  stage.setAttribute('role', 'application')

  let points = null, colours = null, marks = {}
  let flags = new Uint8Array(0), chosen = new Uint8Array(0), nChosen = 0
  let shown = null, hidden = new Set(), days = [0, 65535]
  let view = { x: 0, y: 0, scale: 0 }, tool = 'pan', lasso = null, drag = null, hovered = null
  let width = 1, height = 1, ratio = 1, theme = null, isDirty = false, isTouched = false
  const texts = new Map()
  const listeners = new AbortController()
  const on = (target, event, act, options) => target.addEventListener(event, act, { signal: listeners.signal, ...options })

  // ---- colours ---------------------------------------------------------------------------------------------------

  function colour(text) {
    pen.fillStyle = '#888'
    pen.fillStyle = text.trim()
    const found = pen.fillStyle
    if (found[0] === '#') return [1, 3, 5].map((at) => parseInt(found.slice(at, at + 2), 16) / 255)
    return found.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255)
  }
  const mix = (one, other, share) => one.map((part, i) => part + (other[i] - part) * share)
  const css = (rgb, alpha = 1) => `rgba(${rgb.map((part) => Math.round(part * 255)).join(',')},${alpha})`

  function readTheme() {
    const style = getComputedStyle(root)
    const text = colour(style.color), ground = colour(style.backgroundColor), accent = colour(style.outlineColor)
    const isDark = ground[0] + ground[1] + ground[2] < 1.5
    const listed = style.getPropertyValue('--st-chart-categorical-colors').match(/#[0-9a-f]{6}/gi)
    const base = (listed ?? BLUE_TO_GREY).map(colour).map((one) => (isDark ? mix(one, [1, 1, 1], 0.28) : one))
    theme = { text, ground, accent, isDark, base, grey: mix(text, ground, 0.55), font: style.fontFamily }
  }

  // The first round takes the theme's colours as they are; later rounds are darker, then paler, so that none comes twice.
  function entryColour(entry) {
    if (entry.shade !== undefined) return mix(mix(theme.ground, theme.accent, 0.3), theme.isDark ? [1, 0.93, 0.6] : theme.text, entry.shade ** 1.3)
    if (entry.colour < 0) return theme.grey
    const n = theme.base.length, round = Math.floor(entry.colour / n) % 3
    const base = theme.base[entry.colour % n]
    return round === 0 ? base : round === 1 ? mix(base, theme.text, 0.42) : mix(base, theme.ground, 0.42)
  }

  function palette() {
    const found = new Float32Array(256)
    const alpha = points.n > 20000 ? 0.7 : 0.88
    colours.entries.forEach((entry, i) => found.set([...entryColour(entry), hidden.has(i) ? 0 : alpha], i * 4))
    return found
  }

  // ---- where things are ------------------------------------------------------------------------------------------

  const toScreen = (x, y) => [width / 2 + (x - view.x) * view.scale, height / 2 - (y - view.y) * view.scale]
  const toMap = (px, py) => [view.x + (px - width / 2) / view.scale, view.y - (py - height / 2) / view.scale]
  const xyOf = (i) => [points.xy[2 * i], points.xy[2 * i + 1]]
  const isVisible = (i) =>
    (!shown || bit(shown, i)) && !hidden.has(colours.category[i]) && points.day[i] >= days[0] && points.day[i] <= days[1]

  function pointSize() {
    const crowd = Math.min(7, Math.max(0.6, 170 / Math.sqrt(points.n + 30))) + 1.6
    return Math.min(13, crowd * Math.max(0.8, view.scale / fitting().scale) ** 0.4)
  }

  let fitted = null
  function fitting() {
    if (fitted) return fitted
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity]
    for (let i = 0; i < points.xy.length; i++) {
      low[i & 1] = Math.min(low[i & 1], points.xy[i])
      high[i & 1] = Math.max(high[i & 1], points.xy[i])
    }
    const [w, h] = [high[0] - low[0], high[1] - low[1]].map((side) => Math.max(side, 1e-3))
    const scale = Math.min((width - 70) / w, (height - 90) / h)
    return (fitted = { x: (low[0] + high[0]) / 2, y: (low[1] + high[1]) / 2, scale })
  }

  function zoom(factor, px = width / 2, py = height / 2) {
    const least = fitting().scale
    const scale = Math.min(Math.max(view.scale * factor, least * 0.5), least * 400)
    const [x, y] = toMap(px, py)
    view = { x: x - (px - width / 2) / scale, y: y + (py - height / 2) / scale, scale }
    changed()
  }
  const pan = (dx, dy) => ((view = { ...view, x: view.x - dx / view.scale, y: view.y + dy / view.scale }), changed())
  const fit = () => ((view = fitting()), dirty())

  // ---- drawing ---------------------------------------------------------------------------------------------------

  function dirty() {
    if (isDirty) return
    isDirty = true
    requestAnimationFrame(() => ((isDirty = false), points && colours && width > 1 && draw()))
  }

  function draw() {
    const ring = [...theme.ground, 1], faint = [...theme.grey, 0.22]
    const someOut = shown || hidden.size || days[0] > 0 || days[1] < 65535
    const size = pointSize(), someChosen = nChosen > 0
    renderer.draw({ view, width, height, ratio, size, days, palette: palette(), faint, ring, someOut, someChosen })
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.clearRect(0, 0, width, height)
    drawNeighbours()
    drawHits()
    drawLabels()
    for (const i of [hovered, marks.opened]) if (i != null && i < points.n) drawRing(i, pointSize() / 2 + 4, theme.text, 2)
    drawOutline()
  }

  function drawRing(i, radius, rgb, line) {
    const [px, py] = toScreen(...xyOf(i))
    pen.beginPath()
    pen.arc(px, py, radius, 0, 7)
    pen.lineWidth = line + 2
    pen.strokeStyle = css(theme.ground, 0.9)
    pen.stroke()
    pen.lineWidth = line
    pen.strokeStyle = css(rgb)
    pen.stroke()
    return [px, py]
  }

  function drawNeighbours() {
    if (marks.opened == null || !marks.neighbours?.length) return
    const from = toScreen(...xyOf(marks.opened))
    for (const i of marks.neighbours) {
      const to = toScreen(...xyOf(i))
      pen.beginPath()
      pen.moveTo(...from)
      pen.lineTo(...to)
      pen.lineWidth = 1.5
      pen.strokeStyle = css(theme.text, 0.65)
      pen.stroke()
      drawRing(i, pointSize() / 2 + 2, theme.text, 1)
    }
  }

  function drawHits() {
    const hits = marks.hits ?? []
    for (let rank = hits.length - 1; rank >= 0; rank--) {
      const radius = pointSize() / 2 + 3 + 6 * (1 - rank / Math.max(hits.length, 10))
      const [px, py] = drawRing(hits[rank], radius, theme.accent, rank < 10 ? 2.5 : 1.5)
      if (rank < 5) write(String(rank + 1), px + radius + 6, py, 11, 700, theme.accent)
    }
    if (!marks.query) return
    const [px, py] = toScreen(...marks.query)
    for (const [line, rgb] of [[6, theme.ground], [2.5, theme.accent]]) {
      pen.beginPath()
      pen.moveTo(px - 9, py), pen.lineTo(px + 9, py), pen.moveTo(px, py - 9), pen.lineTo(px, py + 9)
      pen.lineWidth = line
      pen.strokeStyle = css(rgb)
      pen.stroke()
    }
    write('your question', px, py + 18, 11, 600, theme.accent)
  }

  function write(text, px, py, size, weight, rgb, alpha = 1) {
    pen.font = `${weight} ${size}px ${theme.font}`
    pen.textAlign = 'center'
    pen.textBaseline = 'middle'
    pen.lineJoin = 'round'
    pen.lineWidth = 4
    pen.strokeStyle = css(theme.ground, 0.85 * alpha)
    pen.strokeText(text, px, py)
    pen.fillStyle = css(rgb, alpha)
    pen.fillText(text, px, py)
  }

  // Larger domains first. A label stands over, under or beside its domain, where it covers no other one; else on its own
  // domain, if no label is there. It is paler where its domain is but a speck, but never too pale to read.
  function drawLabels() {
    const taken = [[0, 0, 262, 40], [width - 100, 0, width, 34]] // the tools, and how many are selected
    const discs = colours.labels.map(({ x, y, radius }) => {
      const [px, py] = toScreen(x, y), reach = radius * view.scale
      return [px - reach, py - reach, px + reach, py + reach]
    })
    colours.labels.forEach(({ x, y, radius, name, note, colour: place }, own) => {
      const reach = radius * view.scale
      const alpha = Math.min(1, Math.max(0.72, reach / 4))
      const [px, py] = toScreen(x, y)
      if (px < 0 || py < 0 || px > width || py > height) return
      const text = name.length > 34 ? `${name.slice(0, 33)}…` : name
      pen.font = `600 12px ${theme.font}`
      const half = Math.max(pen.measureText(text).width, note.length * 5.4) / 2 + 4
      const far = Math.min(reach * 1.5, 90) + 18, aside = far + half - 12
      const around = [[px, py - far], [px, py + far], [px + aside, py], [px - aside, py]]
      const box = ([left, top]) => [left - half, top - 16, left + half, top + 16]
      const others = [...taken, ...discs.filter((_, other) => other !== own)]
      const found = around.find((spot) => isFree(box(spot), others)) ?? [[px, py]].find((spot) => isFree(box(spot), taken))
      if (!found) return
      taken.push(box(found))
      const [left, top] = found
      const rgb = place == null ? theme.text : mix(entryColour({ colour: place }), theme.text, 0.45)
      write(text, left, top - (note ? 7 : 0), 12, 600, rgb, alpha)
      if (note) write(note, left, top + 8, 10.5, 400, theme.text, alpha * 0.85)
    })
  }

  const isFree = (box, taken) =>
    box[0] >= 0 && box[1] >= 0 && box[2] <= width && box[3] <= height &&
    !taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])

  function drawOutline() {
    const outline = drag?.outline ?? lasso?.map(([x, y]) => toScreen(x, y))
    if (!outline?.length) return
    pen.beginPath()
    outline.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)))
    pen.closePath()
    pen.fillStyle = css(theme.accent, drag?.outline ? 0.12 : 0.05)
    pen.fill()
    pen.lineWidth = 1.5
    pen.setLineDash([5, 4])
    pen.strokeStyle = css(theme.accent)
    pen.stroke()
    pen.setLineDash([])
  }

  // ---- selecting -------------------------------------------------------------------------------------------------

  function isInside(polygon, x, y) {
    let inside = false
    for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
      const [ax, ay] = polygon[i], [bx, by] = polygon[j]
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside
    }
    return inside
  }

  function selectInside(polygon, mode, how) {
    const mask = new Uint8Array((points.n + 7) >> 3)
    const xs = polygon.map((corner) => corner[0]), ys = polygon.map((corner) => corner[1])
    const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]
    for (let i = 0; i < points.n; i++) {
      const x = points.xy[2 * i], y = points.xy[2 * i + 1]
      if (x < box[0] || x > box[2] || y < box[1] || y > box[3] || !isVisible(i)) continue
      if (isInside(polygon, x, y)) mask[i >> 3] |= 1 << (i & 7)
    }
    const before = mode === 'replace' ? new Uint8Array(mask.length) : chosen
    choose(mask.map((byte, i) => (mode === 'remove' ? before[i] & ~byte : (before[i] ?? 0) | byte)))
    lasso = polygon
    callbacks.onSelect?.({ points: points.key, mask: fromMask(mask), mode, how })
    changed()
  }

  function choose(mask) {
    chosen = mask ?? new Uint8Array((points.n + 7) >> 3)
    nChosen = 0
    for (let i = 0; i < points.n; i++) nChosen += bit(chosen, i)
    if (!nChosen) lasso = null
    said.textContent = nChosen ? `${nChosen.toLocaleString('en')} selected` : ''
    refill()
  }

  function clear() {
    if (drag) return (drag = null), dirty()
    if (!nChosen && !lasso) return
    choose(null)
    callbacks.onSelect?.({ points: points.key, mask: '', mode: 'replace', how: 'clear' })
    changed()
  }

  function refill() {
    if (flags.length !== points.n) flags = new Uint8Array(points.n)
    for (let i = 0; i < points.n; i++) flags[i] = (!shown || bit(shown, i) ? 1 : 0) | (bit(chosen, i) << 1)
    renderer.fill('flags', flags)
    dirty()
  }

  // ---- mouse and keyboard ----------------------------------------------------------------------------------------

  function nearest(px, py) {
    const [x, y] = toMap(px, py)
    let best = null, least = ((REACH + pointSize() / 2) / view.scale) ** 2
    for (let i = 0; i < points.n; i++) {
      const square = (points.xy[2 * i] - x) ** 2 + (points.xy[2 * i + 1] - y) ** 2
      if (square < least && isVisible(i)) (least = square), (best = i)
    }
    return best
  }

  const at = (event) => {
    const box = overlay.getBoundingClientRect()
    return [event.clientX - box.left, event.clientY - box.top]
  }
  const modeOf = (event) => (event.altKey ? 'remove' : event.shiftKey ? 'add' : 'replace')

  function press(event) {
    if (event.button !== 0 || !points) return
    overlay.setPointerCapture(event.pointerId)
    const how = tool === 'pan' && (event.shiftKey || event.altKey) ? 'lasso' : tool // a lasso is at hand in every tool
    drag = { how, from: at(event), last: at(event), moved: false, mode: modeOf(event), outline: null }
    point(null)
  }

  function move(event) {
    const [px, py] = at(event)
    if (!points || !drag) return points && point(event.pointerType === 'touch' ? null : nearest(px, py))
    if (!drag.moved && Math.hypot(px - drag.from[0], py - drag.from[1]) < 4) return
    drag.moved = true
    const [fx, fy] = drag.from, [lx, ly] = drag.last
    if (drag.how === 'pan') pan(px - lx, py - ly)
    else if (drag.how === 'box') drag.outline = [[fx, fy], [px, fy], [px, py], [fx, py]]
    else if (!drag.outline) drag.outline = [[fx, fy], [px, py]]
    else if (Math.hypot(px - lx, py - ly) >= 3) drag.outline.push([px, py])
    else return
    drag.last = [px, py]
    dirty()
  }

  function release(event) {
    if (!drag) return
    const { moved, outline, mode, how, from } = drag
    drag = null
    if (!moved) click(...from, event)
    else if (outline?.length > 2) selectInside(outline.map(([px, py]) => toMap(px, py)), mode, how)
    dirty()
  }

  function click(px, py) {
    const found = nearest(px, py)
    if (found == null) return
    marks = { ...marks, opened: found, neighbours: [] }
    callbacks.onOpen?.({ points: points.key, point: found })
  }

  function key(event) {
    if (event.target !== stage || event.ctrlKey || event.metaKey) return
    const moves = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] }
    const acts = {
      '+': () => zoom(1.3), '=': () => zoom(1.3), '-': () => zoom(1 / 1.3), 0: () => (fit(), changed()), Escape: clear,
      m: () => take('pan'), b: () => take('box'), l: () => take('lasso'), // told with the next move
    }
    const act = moves[event.key] ? () => pan(...moves[event.key]) : acts[event.key]
    if (!act) return
    act()
    event.preventDefault()
    event.stopPropagation()
  }

  // ---- what is under the mouse -----------------------------------------------------------------------------------

  let asking = 0
  function point(i) {
    if (i === hovered) return
    hovered = i
    clearTimeout(asking)
    overlay.style.cursor = i != null ? 'pointer' : tool === 'pan' ? 'grab' : 'crosshair'
    if (i == null) tooltip.hidden = true
    else if (texts.has(i)) tell(i)
    else {
      tooltip.hidden = true
      asking = setTimeout(() => callbacks.onHover?.({ points: points.key, point: i }), HOVER_MILLISECONDS)
    }
    dirty()
  }

  function tell(i) {
    tooltip.replaceChildren(...texts.get(i).map((line) => make('div', 'line', null, line)))
    tooltip.hidden = false
    const [px, py] = toScreen(...xyOf(i))
    const left = Math.min(Math.max(8, px - tooltip.offsetWidth / 2), width - tooltip.offsetWidth - 8)
    const above = py - tooltip.offsetHeight - 14
    tooltip.style.transform = `translate(${left}px, ${above > 4 ? above : py + 16}px)`
  }

  // ---- tools, legend, time ---------------------------------------------------------------------------------------

  function button(parent, name, sign, act) {
    const made = make('button', '', parent, sign)
    made.type = 'button'
    made.title = name
    made.setAttribute('aria-label', name)
    on(made, 'click', act)
    return made
  }

  function icon(title, sign, act) {
    const drawing = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    drawing.setAttribute('viewBox', '0 0 16 16')
    path.setAttribute('d', SIGNS[sign])
    drawing.append(path)
    const made = button(bar, title, '', act)
    made.append(drawing)
    return made
  }

  const tools = Object.entries(TOOLS).map(([name, title]) => [name, icon(title, name, () => (take(name), changed()))])
  icon('Zoom in (+)', 'plus', () => zoom(1.5))
  icon('Zoom out (−)', 'minus', () => zoom(1 / 1.5))
  icon('Show all (0)', 'all', () => (fit(), changed()))
  icon('Clear the selection (Escape)', 'clear', clear)

  function take(name) {
    tool = name
    for (const [other, made] of tools) made.setAttribute('aria-pressed', String(other === name))
    overlay.style.cursor = name === 'pan' ? 'grab' : 'crosshair'
    dirty()
  }

  function drawLegend() {
    const isOutcome = colours.shapes
    legend.replaceChildren(make('span', 'title', null, colours.title))
    colours.entries.forEach((entry, i) => {
      const chip = button(legend, `${entry.name}: show or hide; with Shift, show it alone`, '', (event) => filter(i, event.shiftKey))
      const swatch = make('span', 'swatch', chip, isOutcome ? SHAPES[i] : '■')
      swatch.style.color = css(entryColour(entry))
      make('span', 'name', chip, entry.name)
      make('span', 'n', chip, entry.n.toLocaleString('en'))
      chip.setAttribute('aria-pressed', String(!hidden.has(i)))
    })
    if (!isOutcome && pointSize() >= 5) make('span', 'shapes', legend, '● succeeded  ✕ failed  ◆ unknown')
  }

  function filter(i, isAlone) {
    const others = colours.entries.map((_, other) => other).filter((other) => other !== i)
    const wasAlone = !hidden.has(i) && others.every((other) => hidden.has(other))
    if (isAlone) hidden = new Set(wasAlone ? [] : others)
    else hidden.has(i) ? hidden.delete(i) : hidden.add(i)
    drawLegend()
    changed()
  }

  // The same days, counted from another first day; an end that is open stays open.
  function sameDays([from, until], before, now) {
    const moved = before && now ? Math.round((Date.parse(before) - Date.parse(now)) / 86400000) : 0
    const along = (day) => Math.min(Math.max(day + moved, 0), 65534)
    return [from === 0 ? from : along(from), until === 65535 ? until : along(until)]
  }

  const dayText = (day) => {
    const date = new Date(`${points.first_day}T00:00:00Z`)
    date.setUTCDate(date.getUTCDate() + Number(day))
    return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
  }

  function drawBrush() {
    const last = points.n_days - 1
    brush.hidden = last < 1
    if (brush.hidden) return
    const bars = make('canvas', 'bars', null), words = make('span', 'words', null)
    const ends = ['From', 'Until'].map((name, end) => {
      const slider = make('input', '', null)
      Object.assign(slider, { type: 'range', min: 0, max: last, step: 1, value: Math.min(days[end], last), ariaLabel: `${name} which day` })
      on(slider, 'input', () => {
        const other = Number(ends[1 - end].value)
        slider.value = end ? Math.max(slider.value, other) : Math.min(slider.value, other)
        days = [Number(ends[0].value), Number(ends[1].value) === last ? 65535 : Number(ends[1].value)]
        tellDays()
        changed()
      })
      return slider
    })
    const tellDays = () => {
      words.textContent = `${dayText(ends[0].value)} – ${dayText(ends[1].value)}`
      ends.forEach((slider) => slider.setAttribute('aria-valuetext', dayText(slider.value)))
      drawBars(bars, last)
    }
    const track = make('div', 'track', null)
    track.append(bars, ...ends)
    brush.replaceChildren(track, words)
    tellDays()
  }

  function drawBars(bars, last) {
    const n = Math.min(last + 1, 120), counts = new Float64Array(n)
    for (let i = 0; i < points.n; i++) counts[Math.floor((points.day[i] / (last + 1)) * n)]++
    const most = Math.max(...counts), pencil = bars.getContext('2d')
    bars.width = n * 4
    bars.height = 24
    counts.forEach((count, i) => {
      const day = (i / n) * (last + 1)
      pencil.fillStyle = css(theme.accent, day >= days[0] - 1 && day <= days[1] ? 0.55 : 0.15)
      const tall = count ? Math.max(1.5, (count / most) * 24) : 0
      pencil.fillRect(i * 4, 24 - tall, 3, tall)
    })
  }

  // ---- what comes from outside -----------------------------------------------------------------------------------

  let telling = 0
  function changed() {
    dirty()
    tooltip.hidden = true
    isTouched = true
    clearTimeout(telling)
    telling = setTimeout(() => callbacks.onView?.({ ...view, tool, days, first_day: points?.first_day, hidden: hiddenNames(), lasso }), VIEW_MILLISECONDS)
  }
  const hiddenNames = () => [...hidden].map((i) => colours.entries[i]?.name)

  function takePoints(layer) {
    const isSame = points?.key === layer.key
    if (isSame) return // the bytes come again with every run of the page; they are looked at once
    days = sameDays(days, points?.first_day, layer.first_day)
    points = layer
    texts.clear()
    hovered = null
    fitted = null
    for (const name of ['xy', 'outcome', 'day']) renderer.fill(name, layer[name])
    chosen = chosen.length ? chosen.slice(0, (points.n + 7) >> 3) : chosen
    if (chosen.length < (points.n + 7) >> 3) chosen = Uint8Array.from({ length: (points.n + 7) >> 3 }, (_, i) => chosen[i] ?? 0)
    stage.setAttribute('aria-label', `${layer.label} Arrow keys move, plus and minus zoom, 0 shows all, L takes the lasso, Escape clears the selection.`)
    shown = null
    refill()
    if (colours) takeColours(colours)
    drawBrush()
    if (!view.scale && width > 1) fit()
  }

  function takeColours(layer) {
    const names = new Set(colours?.title === layer.title ? hiddenNames() : [])
    const said = (of) => JSON.stringify(of?.labels.map((label) => label.name))
    if (said(layer) !== said(colours)) texts.clear() // a domain may have been renamed
    const n = points?.n ?? 0
    const category = layer.category.length === n ? layer.category : new Uint8Array(n).map((_, i) => layer.category[i] ?? 0)
    colours = { ...layer, category }
    hidden = new Set(colours.entries.flatMap(({ name }, i) => (names.has(name) ? [i] : [])))
    if (points) renderer.fill('category', category), drawLegend()
  }

  function takeMarks(layer) {
    if (!points || layer.points !== points.key) return
    marks = layer
    shown = toMask(layer.shown)
    if (layer.chosen !== undefined) choose(toMask(layer.chosen))
    else refill()
    if (!isTouched && layer.start) start(layer.start)
    if (layer.focus && turn !== null && layer.focus.turn !== turn) show(layer.focus)
    turn = layer.focus?.turn ?? 0
  }

  let turn = null
  function show({ x, y, radius }) {
    view = { x, y, scale: Math.min(Math.min(width, height) / (5 * Math.max(radius, 1e-3)), fitting().scale * 60) }
    changed()
  }

  function start({ x, y, scale, tool: was, days: between, first_day: before, hidden: names, lasso: drawn }) {
    view = { x, y, scale }
    days = between ? sameDays(between, before, points?.first_day) : days
    lasso = nChosen ? drawn : null
    hidden = new Set(colours.entries.flatMap(({ name }, i) => (names?.includes(name) ? [i] : [])))
    take(was in TOOLS ? was : 'pan')
    drawLegend()
    drawBrush()
  }

  function update({ points: p, colours: c, marks: m, talk: t }) {
    if (p) takePoints(p)
    if (c) takeColours(c)
    if (m && points && colours) takeMarks(m)
    if (t && t.points === points?.key) {
      texts.set(t.point, t.lines)
      if (t.point === hovered) tell(t.point)
    }
    dirty()
  }

  function resize() {
    const box = stage.getBoundingClientRect()
    if (box.width < 2) return
    ;[width, height, ratio] = [box.width, box.height, Math.min(devicePixelRatio || 1, 2)]
    for (const one of [canvas, overlay]) (one.width = width * ratio), (one.height = height * ratio)
    fitted = null
    if (points && !view.scale) fit()
    dirty()
  }

  function retheme() {
    readTheme()
    if (points && colours) drawLegend(), drawBrush()
    dirty()
  }

  on(overlay, 'pointerdown', press)
  on(overlay, 'pointermove', move)
  on(overlay, 'pointerup', release)
  on(overlay, 'pointercancel', () => (drag = null))
  on(overlay, 'pointerleave', () => point(null))
  on(overlay, 'dblclick', (event) => zoom(2, ...at(event)))
  on(overlay, 'wheel', (event) => (event.preventDefault(), zoom(Math.exp(-event.deltaY * 0.0015), ...at(event))), { passive: false })
  on(stage, 'keydown', key)
  on(canvas, 'webglcontextrestored', dirty)
  const watcher = new ResizeObserver(resize)
  watcher.observe(stage)
  tooltip.hidden = true
  take('pan')
  retheme()
  resize()
  update(payload)

  const destroy = () => {
    clearTimeout(telling)
    clearTimeout(asking)
    watcher.disconnect()
    listeners.abort()
    renderer.free()
    root.remove()
  }
  const look = () => ({ key: points?.key, n: points?.n, nChosen, view, tool, days, hidden: [...hidden], hovered, width, height })
  return { update, retheme, destroy, look, where: (point) => toScreen(...xyOf(point)) }
}
