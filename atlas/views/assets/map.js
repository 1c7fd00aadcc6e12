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
//              legend: [place of an entry …] in their order, heading; an entry's rate as text
//              label_of: Uint8Array(n) the label of each point, 255 for none
//   marks    { points, asked: the question's text, shown, chosen: bit masks in base64 or null, hits: [point …] best first, query: [x, y] or null,
//              opened: point or null, neighbours: [point …], start: what `onView` gave when the person was here last,
//              focus: { x, y, radius, turn } to be shown large, as soon as `turn` is another one }
//   talk     { points, point, lines: [text …] }
//   pulse    what agents do just now: see map_pulse.js
//
// Callbacks, each optional:
//   onSelect({ points, mask, mode: 'replace' | 'add' | 'remove', how: 'lasso' | 'box' | 'keys' | 'clear' })   mask in base64
//   onAsk({ text })    onFull()    onOpen({ points, point })    onHover({ points, point })    onView({ x, y, scale, tool, days, first_day, hidden, lasso })

const BLUE_TO_GREY = ['#2f6fb0', '#c8662b', '#2e8b74', '#8a63a8', '#a8892a', '#5b7083', '#b5527a', '#5a8f3c']
const SHAPES = ['●', '✕', '◆'] // succeeded, failed, unknown
const TOOLS = { pan: 'Move (M)', box: 'Select a box (B)', lasso: 'Select with a lasso (L)' }
const SIGNS = { // paths in a square of 16
  pan: 'M8 1v14M1 8h14M6 3l2-2 2 2M6 13l2 2 2-2M3 6L1 8l2 2M13 6l2 2-2 2', box: 'M2 3h12v10H2z',
  lasso: 'M8 2c3.5 0 6 1.700 6 4s-2.500 4-6 4-6-1.700-6-4 2.500-4 6-4M5 9.500c-1 2 0 3 1 3.500s1 1.500 0 2.500',
  full: 'M1 5V1h4M11 1h4v4M15 11v4h-4M5 15H1v-4M5 5h6v6H5z', contours: 'M8 7.500a1 1 0 1 0 .1 0M8 5c2 0 3 1.500 3 3.200S9.500 11 8 11 5 10 5 8s1-3 3-3M8 2c4 0 6 3 6 6s-2.500 6-6 6-6-2.500-6-6 2-6 6-6',
  plus: 'M8 3v10M3 8h10', minus: 'M3 8h10', all: 'M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4', clear: 'M4 4l8 8M12 4l-8 8',
}
const HOVER_MILLISECONDS = 120
const VIEW_MILLISECONDS = 500
const REACH = 9 // pixels from a point at which it is meant
const FLIGHT_MILLISECONDS = 700
const RANK_MILLISECONDS = 60
const REPLAY_SECONDS = 14
const TALL = 44 // pixels of the bars over time
const FORMED = 4 // members from which a domain is named while the memory grows
const isCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches
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
  const sheet = make('div', 'sheet', root)
  const stage = make('div', 'stage', sheet)
  const canvas = make('canvas', 'points', stage)
  const overlay = make('canvas', 'overlay', stage)
  const renderer = pointRenderer(canvas)
  if (!renderer) return root.remove(), null
  const pen = overlay.getContext('2d')
  const tooltip = make('div', 'tooltip', stage)
  const bar = make('div', 'tools', stage)
  const said = make('div', 'said', stage)
  said.setAttribute('role', 'status')
  const ticker = make('div', 'ticker', stage)
  ticker.setAttribute('role', 'log')
  const pulse = livePulse(ticker, () => dirty())
  tooltip.setAttribute('aria-live', 'polite')
  const ask = make('form', 'ask', stage), question = make('input', '', ask)
  Object.assign(question, { type: 'search', placeholder: 'Ask the map', ariaLabel: 'Ask the map', title: 'Ask the map (/)', maxLength: 2000 })
  ask.hidden = !callbacks.onAsk
  const legend = make('div', 'legend', sheet)
  const brush = make('div', 'brush', sheet)
  legend.setAttribute('role', 'group')
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
    const size = pointSize(), someChosen = nChosen > 0, someHit = Boolean(marks.hits?.length)
    if (replay) faint[3] = 0 // what is not there yet is not to be seen at all
    renderer.draw({ view, width, height, ratio, size, days, palette: palette(), faint, ring, someOut, someChosen, someHit })
    pen.setTransform(ratio, 0, 0, ratio, 0, 0)
    pen.clearRect(0, 0, width, height)
    if (isContoured) drawContours()
    drawNeighbours()
    drawHits()
    drawFlight()
    pulse.draw(drawBeat)
    drawLabels()
    for (const i of [hovered, marks.opened]) if (i != null && i < points.n) drawRing(i, pointSize() / 2 + 4, theme.text, 2)
    drawOutline()
  }

  const drawBeat = (i, share, isStored) =>
    i < points.n && drawRing(i, pointSize() / 2 + 4 + 22 * share, isStored ? theme.text : theme.accent, 3.2 - 2.4 * share)

  // ---- density ---------------------------------------------------------------------------------------------------

  let isContoured = false, contours = null
  function showContours(isOn) {
    isContoured = isOn
    contourButton.setAttribute('aria-pressed', String(isOn))
    dirty()
  }

  // Worked out again where other points are to be seen; while one pans and zooms the same lines are only moved.
  function drawContours() {
    const of = [points.key, marks.shown, [...hidden].join(), days.join()].join(' ')
    if (contours?.of !== of) contours = { of, levels: densityLines(points.xy, isVisible) }
    pen.save()
    pen.translate(...toScreen(0, 0))
    pen.scale(view.scale, -view.scale)
    pen.lineWidth = 1.2 / view.scale
    contours.levels.forEach((lines, level) => {
      pen.strokeStyle = css(theme.text, 0.16 + 0.12 * level)
      pen.stroke(lines)
    })
    pen.restore()
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
    for (let rank = Math.min(lit, hits.length) - 1; rank >= 0; rank--) {
      const radius = pointSize() / 2 + 3 + 6 * (1 - rank / Math.max(hits.length, 10))
      const [px, py] = drawRing(hits[rank], radius, theme.accent, rank < 10 ? 2.5 : 1.5)
      if (rank < 5) write(String(rank + 1), px + radius + 6, py, 11, 700, theme.accent)
    }
    if (marks.query && !flight) drawQuestion(...toScreen(...marks.query))
  }

  function drawQuestion(px, py) {
    for (const [line, rgb] of [[6, theme.ground], [2.5, theme.accent]]) {
      pen.beginPath()
      pen.moveTo(px - 9, py), pen.lineTo(px + 9, py), pen.moveTo(px, py - 9), pen.lineTo(px, py + 9)
      pen.lineWidth = line
      pen.strokeStyle = css(rgb)
      pen.stroke()
    }
    write('your question', px, py + 18, 11, 600, theme.accent)
  }

  // ---- a question flies to its place, and then its hits light up, best first ----------------------------------------

  let flight = 0, lit = 0, asked = null // the moment at which it set out, 0 when it has come; hits that are lit
  function begin(layer) {
    const now = layer.hits?.length ? `${layer.asked} ${layer.hits.join()}` : ''
    if (now === asked) return
    asked = now
    flight = 0
    lit = layer.hits?.length ?? 0
    if (document.activeElement !== question && ask.getRootNode().activeElement !== question) question.value = layer.asked ?? ''
    if (!now || isCalm()) return
    flight = performance.now()
    lit = 0
  }

  function drawFlight() {
    if (!flight) return
    const hits = marks.hits ?? [], passed = performance.now() - flight
    const share = marks.query ? Math.min(1, passed / FLIGHT_MILLISECONDS) : 1
    const since = passed - (marks.query ? FLIGHT_MILLISECONDS : 0)
    if (marks.query) {
      const [px, py] = toScreen(...marks.query), eased = 1 - (1 - share) ** 3
      drawQuestion(width - 120 + (px - width + 120) * eased, 24 + (py - 24) * eased)
    }
    const before = lit
    lit = Math.max(0, Math.min(hits.length, Math.floor(since / RANK_MILLISECONDS)))
    if (lit !== before) flagHits()
    if (lit >= hits.length) flight = 0
    dirty()
  }

  function flagHits() {
    for (const i of (marks.hits ?? []).slice(0, lit)) flags[i] |= 4
    renderer.fill('flags', flags)
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
    const taken = [[0, 0, 332, 40], [width - 230, 0, width, 58]] // the tools, and the question
    const labels = labelsNow()
    const discs = labels.map(({ x, y, radius }) => {
      const [px, py] = toScreen(x, y), reach = radius * view.scale
      return [px - reach, py - reach, px + reach, py + reach]
    })
    labels.forEach(({ x, y, radius, name, note, colour: place }, own) => {
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
    flagHits()
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
      '+': () => zoom(1.3), '=': () => zoom(1.3), '-': () => zoom(1 / 1.3), 0: () => (fit(), changed()), Escape: () => (isWalking ? stopWalking() : clear()),
      Enter: () => (isWalking && hovered != null ? click(...toScreen(...xyOf(hovered))) : walk(null)),
      ' ': () => isWalking && toggle(hovered), '/': () => question.focus(), p: () => play(),
      f: full, d: () => showContours(!isContoured), m: () => take('pan'), b: () => take('box'), l: () => take('lasso'), // told with the next move
    }
    const act = moves[event.key] ? () => (isWalking ? walk(moves[event.key]) : pan(...moves[event.key])) : acts[event.key]
    if (!act) return
    act()
    event.preventDefault()
    event.stopPropagation()
  }

  // Points by keyboard: Enter takes the one amid the map, the arrows go to the next in their direction, Space selects.
  let isWalking = false
  function walk(direction) {
    const [fx, fy] = hovered != null ? toScreen(...xyOf(hovered)) : [width / 2, height / 2]
    let best = null, least = Infinity
    for (let i = 0; i < points.n; i++) {
      if (i === hovered || !isVisible(i)) continue
      const [px, py] = toScreen(...xyOf(i)), dx = px - fx, dy = py - fy
      const along = direction ? -(dx * direction[0] + dy * direction[1]) / STEP : 0
      if (direction && along <= 0) continue
      const far = direction ? along + 2.5 * Math.abs(direction[0] ? dy : dx) : Math.hypot(dx, dy)
      if (far < least) (least = far), (best = i)
    }
    if (best == null) return
    isWalking = true
    const [px, py] = toScreen(...xyOf(best))
    if (px < 20 || py < 20 || px > width - 20 || py > height - 20) pan(width / 2 - px, height / 2 - py)
    point(best)
  }
  const stopWalking = () => ((isWalking = false), point(null))

  function toggle(i) {
    if (i == null) return
    const mask = new Uint8Array((points.n + 7) >> 3), mode = bit(chosen, i) ? 'remove' : 'add'
    mask[i >> 3] |= 1 << (i & 7)
    choose(chosen.map((byte, at) => (mode === 'add' ? byte | mask[at] : byte & ~mask[at])))
    callbacks.onSelect?.({ points: points.key, mask: fromMask(mask), mode, how: 'keys' })
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
  const contourButton = icon('Show density (D)', 'contours', () => showContours(!isContoured))
  contourButton.setAttribute('aria-pressed', 'false')
  icon('Full screen (F)', 'full', full)

  function full() {
    if (callbacks.onFull) callbacks.onFull()
    else if (document.fullscreenElement) document.exitFullscreen()
    else root.requestFullscreen()
  }

  function take(name) {
    tool = name
    for (const [other, made] of tools) made.setAttribute('aria-pressed', String(other === name))
    overlay.style.cursor = name === 'pan' ? 'grab' : 'crosshair'
    dirty()
  }

  function drawLegend() {
    const isOutcome = colours.shapes
    legend.setAttribute('aria-label', colours.heading)
    legend.replaceChildren(make('span', 'title', null, colours.heading))
    colours.legend.forEach((i) => {
      const entry = colours.entries[i]
      const chip = button(legend, `${entry.name}: show or hide; with Shift, show it alone`, '', (event) => filter(i, event.shiftKey))
      const swatch = make('span', 'swatch', chip, isOutcome ? SHAPES[i] : '■')
      swatch.style.color = css(entryColour(entry))
      make('span', 'name', chip, entry.name)
      make('span', 'n', chip, entry.n.toLocaleString('en'))
      if (entry.rate) make('span', 'rate', chip, entry.rate)
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
    const bars = make('canvas', 'bars', null), words = make('span', 'words', null), rate = make('span', 'rate', null)
    playing = button(brush, '', '', play)
    bars.setAttribute('role', 'img')
    bars.setAttribute('aria-label', 'Experiences over time, and the success rate so far')
    rates = ratesSoFar()
    const ends = ['From', 'Until'].map((name, end) => {
      const slider = make('input', '', null)
      Object.assign(slider, { type: 'range', min: 0, max: last, step: 1, value: Math.min(days[end], last), ariaLabel: `${name} which day` })
      on(slider, 'input', () => {
        if (replay) stopReplay()
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
      rate.textContent = rateText(days[0], Math.min(days[1], last))
    }
    tellTime = (day) => ((ends[0].value = 0), (ends[1].value = day), tellDays())
    const track = make('div', 'track', null)
    track.append(bars, ...ends)
    const said = make('div', 'told', null)
    said.append(words, rate)
    brush.replaceChildren(playing, track, said)
    tellDays()
    tellPlaying()
  }

  // ---- replay: the memory grows from its first day on ---------------------------------------------------------------

  let replay = null, playing = null, tellTime = () => {}, rates = null
  function play() {
    if (!points || points.n_days < 2) return
    if (replay) return stopReplay()
    const last = points.n_days - 1
    const from = days[1] >= last ? 0 : days[1]
    replay = { from, since: performance.now(), last }
    tellPlaying()
    advance()
  }

  function advance() {
    if (!replay) return
    const passed = (performance.now() - replay.since) / 1000
    const along = replay.from + (isCalm() ? Math.floor(passed) : passed) * (replay.last / REPLAY_SECONDS)
    const day = Math.min(replay.last, Math.floor(along))
    days = [0, day >= replay.last ? 65535 : day]
    tellTime(day)
    if (day >= replay.last) stopReplay()
    else requestAnimationFrame(advance)
    dirty()
  }

  function stopReplay() {
    replay = null
    tellPlaying()
    changed()
  }

  function tellPlaying() {
    playing.textContent = replay ? '❚❚' : '▶'
    playing.title = replay ? 'Pause (P)' : 'Play how the memory grew (P)'
    playing.setAttribute('aria-label', playing.title)
    playing.className = 'play'
  }

  /** For each day, how many outcomes are known by then and how many of them succeeded, of all and of each domain. */
  function ratesSoFar() {
    const known = new Uint32Array(points.n_days), succeeded = new Uint32Array(points.n_days)
    for (let i = 0; i < points.n; i++) {
      if (points.outcome[i] > 1) continue
      known[points.day[i]]++
      succeeded[points.day[i]] += points.outcome[i] === 0 ? 1 : 0
    }
    for (let day = 1; day < points.n_days; day++) (known[day] += known[day - 1]), (succeeded[day] += succeeded[day - 1])
    return { known, succeeded }
  }

  function rateText(from, until) {
    const between = (sums) => sums[until] - (from ? sums[from - 1] : 0)
    const n = between(rates.known)
    return n ? `${Math.round((100 * between(rates.succeeded)) / n)} % of ${n.toLocaleString('en')} succeeded` : 'no outcome known'
  }

  // While the memory grows, a domain's label stands there once enough of it does, with its rate by then.
  function labelsNow() {
    if (!replay || !colours.label_of) return colours.labels
    const counts = colours.labels.map(() => ({ n: 0, known: 0, succeeded: 0 }))
    for (let i = 0; i < points.n; i++) {
      const count = counts[colours.label_of[i]]
      if (!count || points.day[i] > days[1]) continue
      count.n++
      count.known += points.outcome[i] < 2 ? 1 : 0
      count.succeeded += points.outcome[i] === 0 ? 1 : 0
    }
    return colours.labels.flatMap((label, i) => {
      const { n, known, succeeded } = counts[i]
      const note = known ? `${Math.round((100 * succeeded) / known)} % of ${known.toLocaleString('en')} succeeded` : ''
      return n >= FORMED ? [{ ...label, note }] : []
    })
  }

  function drawBars(bars, last) {
    const n = Math.min(last + 1, 120), counts = new Float64Array(n)
    for (let i = 0; i < points.n; i++) counts[Math.floor((points.day[i] * n) / (last + 1))]++
    const most = Math.max(...counts), pencil = bars.getContext('2d')
    bars.width = n * 4
    bars.height = TALL
    counts.forEach((count, i) => {
      const day = (i / n) * (last + 1)
      pencil.fillStyle = css(theme.accent, day >= days[0] - 1 && day <= days[1] ? 0.55 : 0.15)
      const tall = count ? Math.max(1.5, (count / most) * (TALL - 12)) : 0
      pencil.fillRect(i * 4, TALL - tall, 3, tall)
    })
    drawRates(pencil, bars.width, last)
  }

  function drawRates(pencil, wide, last) {
    pencil.beginPath()
    pencil.strokeStyle = css(theme.text, 0.85)
    pencil.lineWidth = 1.8
    for (let day = 0; day <= Math.min(last, days[1]); day++) {
      if (!rates.known[day]) continue
      pencil.lineTo(((day + 0.5) / (last + 1)) * wide, 2 + (1 - rates.succeeded[day] / rates.known[day]) * (TALL - 4))
    }
    pencil.stroke()
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
    stage.setAttribute('aria-label', `${layer.label} Arrow keys move, plus and minus zoom, 0 shows all, L takes the lasso, Escape clears the selection. Enter goes to a point; the arrow keys then go from point to point, Space selects and Enter opens.`)
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
    marks = layer
    begin(layer)
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
    isTouched = true
    days = between ? sameDays(between, before, points?.first_day) : days
    lasso = nChosen ? drawn : null
    hidden = new Set(colours.entries.flatMap(({ name }, i) => (names?.includes(name) ? [i] : [])))
    take(was in TOOLS ? was : 'pan')
    drawLegend()
    drawBrush()
  }

  let waiting = null // marks that came before what they are drawn over
  function update({ points: p, colours: c, marks: m, talk: t, pulse: beat }) {
    if (p) takePoints(p)
    if (c) takeColours(c)
    waiting = m ?? waiting
    if (waiting && colours && waiting.points === points?.key) {
      takeMarks(waiting)
      waiting = null
    }
    if (t && t.points === points?.key) {
      texts.set(t.point, t.lines)
      if (t.point === hovered) tell(t.point)
    }
    if (beat && beat.points === points?.key) pulse.take(beat)
    dirty()
  }

  function resize() {
    const box = stage.getBoundingClientRect()
    if (box.width < 2) return
    ;[width, height, ratio] = [box.width, box.height, Math.min(devicePixelRatio || 1, 2)]
    for (const one of [canvas, overlay]) (one.width = width * ratio), (one.height = height * ratio)
    fitted = null
    if (points && !isTouched) fit() // all of it, as long as nobody has looked closer: the window gives the map its size late
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
  on(ask, 'submit', (event) => (event.preventDefault(), callbacks.onAsk?.({ text: question.value.trim() })))
  on(question, 'keydown', (event) => event.key === 'Escape' && stage.focus())
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
    pulse.stop()
    watcher.disconnect()
    listeners.abort()
    renderer.free()
    root.remove()
  }
  const look = () => ({ lit, isFlying: Boolean(flight), isPlaying: Boolean(replay), isWalking, isContoured, key: points?.key, n: points?.n, nChosen, view, tool, days, hidden: [...hidden], hovered, width, height, nPulsing: pulse.n() })
  return { update, retheme, destroy, look, where: (point) => toScreen(...xyOf(point)) }
}
