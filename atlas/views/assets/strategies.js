// The list of strategies. All texts of the store are put in as text content.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children.filter((child) => child))
  return element
}

const cell = (className, ...children) => {
  const element = made('div', className, ...children)
  element.setAttribute('role', 'cell')
  return element
}

const head = (className, ...children) => {
  const element = made('div', className, ...children)
  element.setAttribute('role', 'columnheader')
  return element
}

const box = (label, act) => {
  const element = made('input', '')
  element.type = 'checkbox'
  element.setAttribute('aria-label', label)
  element.addEventListener('change', () => act(element.checked))
  return element
}

const percent = (share) => `${(100 * share).toFixed(1)}%`

// The rate as a stroke on a line from 0 to 100 %, with the range of the true rate as a band.
function bar(row) {
  const band = made('span', 'band'), stroke = made('span', 'stroke'), line = made('span', 'bar', band, stroke)
  band.style.left = percent(row.low)
  band.style.width = percent(row.high - row.low)
  stroke.style.left = percent(row.rate)
  line.setAttribute('aria-hidden', 'true')
  return line
}

function record(row) {
  if (row.rate === null) return cell('record untried', made('span', 'pill', row.succeeded))
  const tries = made('span', 'tries', made('strong', '', row.succeeded), ` ${row.succeeded.endsWith(' of 1') ? 'try' : 'tries'}`)
  const range = made('span', 'range', row.range)
  range.title = 'The true rate lies in this range with a probability of 95 %'
  const verdict = made('span', `verdict ${row.verdict.replaceAll(' ', '-')}`, row.verdict)
  return cell('record', tries, row.trend && made('span', 'range', row.trend), bar(row), verdict, range)
}

function steps(row) {
  const list = made(row.steps.length > 1 ? 'ol' : 'p', '')
  if (row.steps.length > 1) list.append(...row.steps.map((step) => made('li', '', step)))
  else list.append(...row.steps)
  const more = row.n_more_steps && made('span', 'more', `and ${row.n_more_steps} more ${row.n_more_steps > 1 ? 'steps' : 'step'}`)
  return cell('steps', list, more)
}

function line(row, send) {
  const title = made('button', 'title', row.title)
  title.type = 'button'
  const relevance = row.relevance !== null && `relevance ${row.relevance.toFixed(2)}`
  const name = cell('name', title, made('span', 'origin', row.origin), row.marks && made('span', 'marks', row.marks),
    relevance && made('span', 'origin', relevance), row.why && made('span', 'origin why', row.why))
  const check = box(`Select ${row.title}`, (isChosen) => send('chosen', { ids: [row.id], isChosen }))
  check.dataset.id = row.id
  const learned = cell('learned', ...(row.learned_from || 'no attempts').split(/(?<=,) /).map((part) => made('span', '', part)))
  const element = made('div', 'row', cell('box', check), name, steps(row), record(row), learned)
  element.setAttribute('role', 'row')
  element.dataset.id = row.id
  element.addEventListener('click', (event) => {
    if (!event.target.closest('.box') && !getSelection().toString()) send('opened', row.id)
  })
  return element
}

function heading(rows, send) {
  const all = box('Select all on this page', (isChosen) => send('chosen', { ids: rows.map((row) => row.id), isChosen }))
  all.dataset.all = ''
  const scale = made('span', 'scale', made('span', '', '0 %'), made('span', '', '50'), made('span', '', '100 %'))
  scale.setAttribute('aria-hidden', 'true')
  const element = made('div', 'row heading', head('box', all), head('name', 'Strategy'), head('steps', 'What to do'),
    head('record', 'Worked when tried', scale), head('learned', 'Attempts it was learned from'))
  element.setAttribute('role', 'row')
  return element
}

function draw(list, { rows, compact }) {
  const send = (...event) => list.send(...event)
  const focused = list.root.getRootNode().activeElement?.closest?.('.row')?.dataset.id
  list.root.className = compact ? 'list compact' : 'list'
  list.root.replaceChildren(heading(rows, send), ...rows.map((row) => line(row, send)))
  if (focused) list.root.querySelector(`[data-id="${CSS.escape(focused)}"] .title`)?.focus()
}

// What a person chose or opened changes without a new list, so that the focus stays.
function mark(list, { selected, opened }) {
  const chosen = new Set(selected), boxes = [...list.root.querySelectorAll('input[data-id]')]
  for (const check of boxes) {
    check.checked = chosen.has(check.dataset.id)
    check.closest('.row').classList.toggle('open', check.dataset.id === opened)
    check.closest('.row').querySelector('.title').setAttribute('aria-expanded', String(check.dataset.id === opened))
  }
  const all = list.root.querySelector('input[data-all]'), n = boxes.filter((check) => check.checked).length
  all.checked = n > 0 && n === boxes.length
  all.indeterminate = n > 0 && n < boxes.length
}

const mounted = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  let list = mounted.get(parentElement)
  if (!list) {
    list = { root: made('div', 'list') }
    list.root.setAttribute('role', 'table')
    list.root.setAttribute('aria-label', 'Strategies')
    mounted.set(parentElement, list)
    parentElement.append(made('div', 'strategies', list.root))
  }
  list.send = setTriggerValue
  const look = JSON.stringify([data.rows, data.compact])
  if (look !== list.look) draw(list, data)
  list.look = look
  mark(list, data)
  const call = (list.call = Symbol())
  return () => {
    if (list.call !== call) return
    list.root.parentElement.remove()
    mounted.delete(parentElement)
  }
}
