// The tools over the map, and the box that searches it.

const TOOLS = { pan: 'Move (M)', box: 'Select a box (B)', lasso: 'Select with a lasso (L)' }
const TOOL_WORDS = { pan: 'Move', box: 'Box', lasso: 'Lasso' } // beside signs that few know, where there is room
const SIGNS = { // paths in a square of 16
  pan: 'M8 1v14M1 8h14M6 3l2-2 2 2M6 13l2 2 2-2M3 6L1 8l2 2M13 6l2 2-2 2', box: 'M2 3h12v10H2z',
  lasso: 'M8 2c3.5 0 6 1.700 6 4s-2.500 4-6 4-6-1.700-6-4 2.500-4 6-4M5 9.500c-1 2 0 3 1 3.500s1 1.500 0 2.500',
  full: 'M1 5V1h4M11 1h4v4M15 11v4h-4M5 15H1v-4M5 5h6v6H5z',
  plus: 'M8 3v10M3 8h10', minus: 'M3 8h10', all: 'M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4', clear: 'M4 4l8 8M12 4l-8 8',
}

function mapTools(map, root, stage, surface) {
  const bar = make('div', 'tools', stage)
  const ask = make('form', 'ask', stage), question = make('input', '', ask)
  let isAsked = false
  Object.assign(question, { type: 'search', placeholder: 'Search the map', ariaLabel: 'Search the map', title: 'Find similar tasks and fly to them (/)', maxLength: 2000 })
  ask.hidden = !map.callbacks.onAsk

  let group = make('span', 'group', bar) // what belongs together stands together

  function icon(title, sign, act, word = '') {
    const drawing = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    drawing.setAttribute('viewBox', '0 0 16 16')
    path.setAttribute('d', SIGNS[sign])
    drawing.append(path)
    const made = makeButton(map, group, title, '', act)
    made.append(drawing)
    if (word) make('span', 'word', made, word)
    return made
  }

  const buttons = Object.entries(TOOLS).map(([name, title]) => [name, icon(title, name, () => (take(name), map.changed()), TOOL_WORDS[name])])
  const clearButton = icon('Clear the selection (Escape)', 'clear', () => map.selection.clear())
  group = make('span', 'group', bar)
  icon('Zoom in (+)', 'plus', () => map.camera.zoom(1.5))
  icon('Zoom out (−)', 'minus', () => map.camera.zoom(1 / 1.5))
  icon('Show all (0)', 'all', () => (map.camera.fit(), map.changed()), 'Show all')
  group = make('span', 'group', bar)
  icon('Full screen (F)', 'full', full, 'Full screen')

  function full() {
    if (map.callbacks.onFull) map.callbacks.onFull()
    else if (document.fullscreenElement) document.exitFullscreen()
    else root.requestFullscreen()
  }

  function take(name) {
    map.tool = Object.hasOwn(TOOLS, name) ? name : 'pan'
    for (const [other, made] of buttons) made.setAttribute('aria-pressed', String(other === map.tool))
    surface.style.cursor = map.tool === 'pan' ? 'grab' : 'crosshair'
    map.dirty()
  }

  /** Offer to clear a selection where there is one. */
  function tellSelection(n) {
    clearButton.hidden = !n
  }

  // A question that somebody is typing stays.
  function tellQuestion(text) {
    if (document.activeElement !== question && ask.getRootNode().activeElement !== question) question.value = text
  }

  /** Their places on the stage. */
  const boxes = () => [bar, ask].map(boxOf)

  // The answer to a question that was asked here is flown to, once. One from beside the map leaves the view as it is.
  const hasAsked = () => [isAsked, (isAsked = false)][0]
  map.on(ask, 'submit', (event) => (event.preventDefault(), (isAsked = true), map.callbacks.onAsk?.({ text: question.value.trim() })))
  map.on(question, 'search', () => question.value || map.callbacks.onAsk?.({ text: '' })) // its cross was clicked
  map.on(question, 'keydown', (event) => event.key === 'Escape' && stage.focus())
  const edge = () => bar.offsetLeft
  return { boxes, edge, take, full, tellQuestion, tellSelection, focusQuestion: () => question.focus(), hasAsked }
}
