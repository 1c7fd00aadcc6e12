// The palette: Ctrl-K opens it on every page. Pages and acts are matched here, records are asked of the server.
// Whatever comes from a memory is put in as text content, never as HTML.

const PAUSE_MILLISECONDS = 150
const LEAST_CHARACTERS = 2

const made = (name, attributes, ...children) => {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean)

function matches(entry, asked) {
  const label = words(`${entry.label} ${entry.detail}`)
  return words(asked).every((word) => label.some((each) => each.startsWith(word)))
}

function build(parentElement) {
  const input = made('input', {
    type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found', 'aria-autocomplete': 'list',
    'aria-label': 'Find pages, records and acts', placeholder: 'Find pages, records and acts', autocomplete: 'off',
    spellcheck: 'false',
  })
  const list = made('ul', { id: 'found', role: 'listbox', 'aria-label': 'Found' })
  const dialog = made('dialog', { 'aria-label': 'Find anything' }, input, list)
  const button = made('button', { type: 'button', class: 'opener', title: 'Find pages, records and acts' },
    made('span', {}, 'Go to …'), made('kbd', {}, 'Ctrl K'))
  const palette = { input, list, dialog, button, shown: [], at: 0, asked: '', timer: 0 }
  parentElement.append(button, dialog)
  parentElement.atlasPalette = palette
  return palette
}

function draw(palette, data) {
  const asked = palette.input.value.trim()
  const here = data.entries.filter((entry) => matches(entry, asked))
  const isCurrent = asked.length >= LEAST_CHARACTERS && data.asked === asked
  palette.shown = isCurrent ? [...here, ...data.found] : here
  palette.at = Math.min(palette.at, Math.max(0, palette.shown.length - 1))
  let group = ''
  const rows = palette.shown.flatMap((entry, place) => {
    const title = made('span', { class: 'label' }, entry.label)
    const option = made('li', { id: `option-${place}`, role: 'option', 'aria-selected': String(place === palette.at) },
      title, made('span', { class: 'detail' }, entry.detail))
    option.addEventListener('pointerdown', (event) => event.preventDefault())
    option.addEventListener('click', () => palette.choose(place))
    const heads = entry.group === group ? [] : [made('li', { class: 'group', role: 'presentation' }, entry.group)]
    group = entry.group
    return [...heads, option]
  })
  const isWaiting = asked.length >= LEAST_CHARACTERS && !isCurrent
  const note = isWaiting ? 'Looking …' : palette.shown.length ? '' : 'Nothing found.'
  palette.list.replaceChildren(...rows, ...(note ? [made('li', { class: 'note', role: 'presentation' }, note)] : []))
  mark(palette)
}

function mark(palette) {
  palette.list.querySelectorAll('[role="option"]').forEach((option, place) => {
    option.setAttribute('aria-selected', String(place === palette.at))
    if (place === palette.at) option.scrollIntoView({ block: 'nearest' })
  })
  if (palette.shown.length) palette.input.setAttribute('aria-activedescendant', `option-${palette.at}`)
  else palette.input.removeAttribute('aria-activedescendant')
}

export default function ({ data, parentElement, setTriggerValue }) {
  const palette = parentElement.atlasPalette ?? build(parentElement)
  const { input, dialog, button } = palette
  palette.stop?.() // new data come without an end of the old

  palette.choose = (place) => {
    const entry = palette.shown[place]
    if (!entry) return
    clearTimeout(palette.timer) // a late question would interrupt the run that follows the choice
    dialog.close()
    setTriggerValue('chosen', { act: entry.act, page: entry.page, parameters: entry.parameters })
  }
  const ask = () => {
    const asked = input.value.trim()
    if (asked.length >= LEAST_CHARACTERS && asked !== data.asked) setTriggerValue('asked', asked)
  }
  const open = () => {
    if (dialog.open) return
    input.value = ''
    palette.at = 0
    draw(palette, data)
    dialog.showModal()
  }
  const listen = (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== 'k') return
    event.preventDefault()
    event.stopPropagation()
    if (dialog.open) dialog.close()
    else open()
  }
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const n = palette.shown.length
    if (step && n) {
      palette.at = (palette.at + step + n) % n
      mark(palette)
    } else if (event.key === 'Enter') palette.choose(palette.at)
    if (step || event.key === 'Enter') event.preventDefault()
    if (!(event.ctrlKey || event.metaKey)) event.stopPropagation() // the page has keys of its own
  }
  const type = () => {
    palette.at = 0
    draw(palette, data)
    clearTimeout(palette.timer)
    palette.timer = setTimeout(ask, PAUSE_MILLISECONDS)
  }
  const leave = (event) => {
    if (event.target === dialog) dialog.close() // a click beside it
  }
  if (dialog.open) draw(palette, data)
  window.addEventListener('keydown', listen, true)
  dialog.addEventListener('keydown', press)
  dialog.addEventListener('click', leave)
  input.addEventListener('input', type)
  button.addEventListener('click', open)
  const stop = () => {
    window.removeEventListener('keydown', listen, true)
    dialog.removeEventListener('keydown', press)
    dialog.removeEventListener('click', leave)
    input.removeEventListener('input', type)
    button.removeEventListener('click', open)
  }
  palette.stop = stop
  return stop
}
