// A list of memories as a table: rows of one line, or tall rows with headings and records. Rows are opened and selected
// by mouse and by keyboard. All texts of the store are put in as text content.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  if (className) element.className = className
  element.append(...children.filter((child) => child))
  return element
}

const percent = (share) => `${100 * share}%`

const box = (label, act) => {
  const element = made('input', '')
  element.type = 'checkbox'
  element.tabIndex = -1
  element.setAttribute('aria-label', label)
  element.addEventListener('click', (event) => act(element.checked, event.shiftKey))
  return element
}

// The rate as a stroke on a line from 0 to 100%, with the range of the true rate as a band, and the average of the store.
function bar({ rate, low, high, average }) {
  const usual = average !== null && made('span', 'average'), band = made('span', 'band'), stroke = made('span', 'stroke'), line = made('span', 'bar', band, usual, stroke)
  band.style.left = percent(low)
  band.style.width = percent(high - low)
  stroke.style.left = percent(rate)
  if (usual) usual.style.left = percent(average)
  line.setAttribute('aria-hidden', 'true')
  return line
}

// A text with what stands between backticks as code.
const worded = (text) => text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? made('code', '', part) : part))

const signOf = (label) => ({ '✓': 'good', '✗': 'bad' })[label[0]] ?? 'open'
const signed = (text) => text.split(/( · )/).flatMap((part) => (part.startsWith('✗ ') ? [made('span', 'bad', part)] : worded(part)))

// An element whose text may be cut by its column.
function cuttable(element, text, partsOf) {
  Object.assign(element, { whole: text, write: (shown) => element.replaceChildren(...partsOf(shown)) })
  element.dataset.whole = ''
  element.write(text)
  return element
}

// The beginning of a text: up to the end of a sentence in its second half, or without a sign or half a piece of code at its end.
function beginning(words, n) {
  const sentence = words.slice(0, n - 1).findLastIndex((word, at) => /[^\s.]{2}[.!?]$/.test(word) && !/^[a-z]/.test(words[at + 1])) + 1
  if (sentence > n / 2) return `${words.slice(0, sentence).join(' ')} …`
  const text = words.slice(0, n).join(' ').replace(/[\s,;:.(–-]+$/, '')
  return `${text.split('`').length % 2 ? text : text.replace(/`([^`]*)$/, '$1')}…`
}

// Texts that their columns cut end with a whole word. All are written before any is measured: after each change, a measure
// lays the page out anew.
function fit(elements) {
  for (const element of elements) element.write(element.whole)
  const texts = elements.map((element) => ({ element, height: element.clientHeight + 1, words: element.whole.split(' '), most: 0 }))
  for (const { element } of texts) element.style.webkitLineClamp = 'none' // what a clamp cuts does not count as overflow
  const isHigh = ({ element, height }) => element.scrollHeight > height
  for (const text of texts) text.element.isCut = isHigh(text) || text.element.scrollWidth > text.element.clientWidth
  const cut = texts.filter(isHigh)
  for (const text of cut) text.least = text.words.length
  const middle = ({ most, least }) => (most + least) >> 1, isOpen = ({ most, least }) => least - most > 1
  for (let open = cut.filter(isOpen); open.length; open = open.filter(isOpen)) {
    for (const text of open) text.element.write(beginning(text.words, middle(text)))
    for (const [text, isTooHigh] of open.map((text) => [text, isHigh(text)])) text[isTooHigh ? 'least' : 'most'] = middle(text)
  }
  for (const { element, words, most } of cut) {
    element.write(most ? beginning(words, most) : element.whole)
    if (element.type === 'button') element.ariaLabel = element.whole
  }
  for (const element of elements) element.style.webkitLineClamp = ''
}

// How the other attempts at a task ended: `after ✗ ✓`. A screen reader gets words for the signs.
const WORDS = { '✓': 'succeeded', '✗': 'failed', '?': 'unknown' }
function history(text) {
  const element = made('span', 'history', ...text.split(/([✓✗?])/).map((part) => (WORDS[part] ? made('span', signOf(part), part) : part)))
  element.setAttribute('role', 'img')
  element.ariaLabel = text.replace(/[✓✗?]/g, (sign) => WORDS[sign])
  return element
}

// Marks of ours, which stand before the tags of people.
const STATES = new Set(['in quarantine', 'waiting for review', 'pinned', 'retired', 'has a note'])

const tags = (marks) => (marks ? marks.split(', ') : []).map((mark) => made('span', STATES.has(mark) ? 'tag state' : 'tag', mark))
const facts = (texts) => texts.map((text) => made('span', '✓✗'.includes(text[0]) ? `fact ${signOf(text)}` : 'tag', text))

const GROUP_ROWS = 3 // of a group among others that are shown at first
const LEAST_HIDDEN = 3 // rows: fewer are shown instead of the button

// Marks that differ in shape as well as in colour.
const SEVERITIES = { urgent: '▲', important: '◆', routine: '●' }

function emptyMark({ empty, empty_means: meaning }) {
  const mark = made('span', 'empty', empty)
  if (meaning) {
    mark.setAttribute('role', 'img')
    mark.title = mark.ariaLabel = meaning
  }
  return mark
}

const FORMS = {
  text: (value, column) => [value ? cuttable(made('span', 'clip'), value, signed) : column.empty && emptyMark(column)],
  number: (value) => [value],
  decimal: (value) => [value],
  time: (value) => [value],
  day: (value) => {
    if (!value) return []
    const element = made('span', '', value.split(',')[0])
    element.title = `${value} UTC`
    return [element]
  },
  share: (value) => {
    if (value === null) return []
    const fill = made('span', 'fill'), meter = made('span', 'meter', fill)
    fill.style.width = percent(value)
    return [meter, value.toFixed(2)]
  },
  // Without a share, its text stands where that of the others does.
  meter: ({ share, text, weak, colour, tick, tick_text }) => {
    const meter = FORMS.share(share)[0] ?? made('span', 'meter none')
    meter.classList.toggle('weak', Boolean(weak))
    if (colour) meter.style.setProperty('--fill', colour)
    if (share !== null && tick != null) {
      const mark = made('span', 'tick')
      mark.style.left = percent(tick)
      mark.title = tick_text || `average ${percent(tick)}`
      meter.append(mark)
    }
    return [meter, made('span', weak ? 'bad' : '', text)]
  },
  // Those of several attempts are signs, or numbers behind their signs, on one line.
  outcomes: (labels) => labels.map((label) => {
    const [short] = label.match(/^. [\d,]+/) ?? (labels.length > 1 ? [label[0]] : [])
    const chip = made('span', `chip ${signOf(label)}${short?.length === 1 ? ' sign' : ''}`, short ?? label)
    if (short) {
      chip.setAttribute('role', 'img')
      chip.title = chip.ariaLabel = label.slice(2)
    }
    return chip
  }),
  badge: (value, column) => {
    if (!value) return []
    const chip = made('span', 'chip badge', value)
    chip.style.setProperty('--tone', column.tones[value] ?? 'var(--quiet)')
    return [chip]
  },
  heading: ({ lead, story, advice, relevance, why }) => [
    ...Object.entries({ lead, story, advice }).map(([name, text]) => text && cuttable(made('span', name), text, worded)),
    relevance !== null && made('span', 'origin', `relevance ${relevance.toFixed(2)}`), why && made('span', 'origin why', why),
  ],
  record: (value) => {
    if (value.rate === null) return [made('span', 'pill', value.tries)]
    const range = made('span', `range ${value.tone}`, value.range)
    range.title = 'Likely: the true value lies in this range with a probability of 95%.'
    const verdict = value.verdict && made('span', `verdict ${value.tone}`, value.verdict)
    if (value.others) verdict.title = `The others: ${value.others}`
    return [made('strong', '', value.tries), value.trend && made('span', 'range', value.trend), bar(value), verdict, range]
  },
  severity: (value) => {
    const mark = made('span', value, SEVERITIES[value])
    mark.setAttribute('role', 'img')
    mark.ariaLabel = mark.title = value
    return [mark]
  },
  button: (value) => {
    const button = made('button', 'act', value) // a click on it is one on its row
    button.type = 'button'
    button.tabIndex = -1 // the keys move from row to row
    return [button]
  },
}

// Least width of a column whose heading has room for a mark.
const ROOMY = 60

function cell(column, row, role, isStill) {
  const element = made('div', `cell ${column.form}${column.opens ? ' main' : ''}${column.grows ? ' wide' : ''}`)
  const value = row[column.name]
  if (column.opens) {
    const title = made(isStill ? 'span' : 'button', column.form === 'heading' ? 'title' : 'title clip')
    const titled = column.form === 'task' && row.titled
    cuttable(title, (column.form === 'heading' ? value.title : titled ? titled.title : value) || '–', worded)
    if (value.parameters) title.append(made('span', 'parameters', value.parameters))
    if (!isStill) Object.assign(title, { type: 'button', tabIndex: -1 })
    const { status, origin, marks } = value
    element.append(column.form === 'heading' ? made('span', 'marks first', title, status && made('span', 'pill', status),
      origin && made('span', 'origin', origin), ...tags(marks)) : title)
    const labels = column.form !== 'heading' && (row.marks || row.facts.length) && made('span', 'marks', ...facts(row.facts), ...tags(row.marks))
    const rest = titled?.rest && cuttable(made('span', 'clip rest'), titled.rest, worded)
    if (titled && (labels || rest)) element.append(made('span', 'below', labels, rest))
    else if (labels) element.append(labels)
    if (titled) element.task = value
  }
  if (!column.opens || column.form === 'heading') element.append(...FORMS[column.form](value, column).filter((child) => child))
  if (column.form === 'outcomes' && row.history) element.append(history(row.history))
  if (column.form === 'share') element.title = row.why
  if (row.hints[column.name]) element.title = row.hints[column.name]
  element.setAttribute('role', role)
  return element
}

function line(row, list) {
  const { data } = list, element = made('div', 'row')
  element.setAttribute('role', 'row')
  element.dataset.id = row.id
  if (row.state) element.classList.add(row.state)
  element.tabIndex = -1
  if (data.selected) {
    const check = !data.fixed?.includes(row.id) && box(`Select ${row.label}`, (isChosen, isRange) => list.choose(row.id, isChosen, isRange))
    const place = made('div', 'cell box', check)
    place.setAttribute('role', 'gridcell')
    element.append(place)
  }
  element.append(...list.columns.map((column) => cell(column, row, 'gridcell', data.is_still)))
  if (!data.is_still) element.addEventListener('click', (event) => {
    if (!event.target.closest('.box') && !getSelection().toString()) list.open(row.id)
  })
  return element
}

// The heading of a group of rows stands above its first one.
function groupHeading({ group }, above) {
  if (!group || group === above?.group) return []
  const place = made('div', 'cell', group), element = made('div', 'row group', place)
  element.setAttribute('role', 'row')
  place.setAttribute('role', 'gridcell')
  return [element]
}

// Below the first rows of a long group among others: the button that shows the rest.
function groupRest({ group }, below, list) {
  if (!group || group === below?.group || list.groupOf(group).length - GROUP_ROWS < LEAST_HIDDEN) return []
  const button = made('button', 'more', `Show ${list.groupOf(group).length - GROUP_ROWS} more`)
  const place = made('div', 'cell', button), element = made('div', 'row rest', place)
  element.setAttribute('role', 'row')
  place.setAttribute('role', 'gridcell')
  button.type = 'button'
  button.addEventListener('click', () => (list.unfolded.add(group), list.fold()))
  element.dataset.group = group
  return [element]
}

function head(column, list) {
  const element = made('div', `cell ${column.form}${column.opens ? ' main' : ''}`), orders = column.orders ?? []
  const place = orders.findIndex((order) => order.label === list.data.order)
  element.setAttribute('role', 'columnheader')
  if (column.help) element.title = column.help
  if (orders.length) {
    const sort = made('button', 'sort', column.title), next = orders[(place + 1) % orders.length].label
    sort.type = 'button'
    sort.title = `Sort: ${next}`
    if (place >= 0) sort.append(made('span', 'arrow', orders[place].descending ? '↓' : '↑'))
    element.setAttribute('aria-sort', place < 0 ? 'none' : orders[place].descending ? 'descending' : 'ascending')
    sort.addEventListener('click', () => list.send('order', next))
    element.append(sort)
  } else element.append(column.title)
  if (column.help && column.title && column.width >= ROOMY) {
    const mark = made('span', 'help', '?')
    mark.setAttribute('aria-hidden', 'true')
    element.append(mark)
  }
  if (column.form === 'record') {
    const scale = made('span', 'scale', made('span', '', '0'), made('span', '', '50'), made('span', '', '100%'))
    scale.setAttribute('aria-hidden', 'true')
    const average = list.data.rows.map((row) => row[column.name].average).find(Number.isFinite)
    element.append(scale)
    if (average !== undefined) element.append(made('span', 'usual', `all attempts ${Math.round(100 * average)}%`))
  }
  return element
}

function heading(list) {
  const element = made('div', 'row head')
  element.setAttribute('role', 'row')
  if (list.data.selected) {
    const all = box('Select all on this page', (isChosen) => list.send('chosen', { ids: list.data.rows.map((row) => row.id), isChosen }))
    all.tabIndex = 0
    all.dataset.all = ''
    const place = made('div', 'cell box', all)
    place.setAttribute('role', 'columnheader')
    element.append(place)
  }
  element.append(...list.columns.map((column) => head(column, list)))
  return element
}

const BOX = 20, GAP = 14, LEAST = 200

// The columns for which there is room. Those at the end go first. What opens the record stays, on its own line if stacked.
function fitting(columns, width, hasBoxes, isStacked) {
  let free = width - 28 - (hasBoxes ? BOX + GAP : 0)
  const kept = []
  for (const column of columns) {
    const isApart = isStacked && column.opens
    const needed = isApart ? 0 : (column.grows ? Math.min(column.width, LEAST) : column.width) + (kept.length ? GAP : 0)
    if (needed > free && kept.some((other) => other.opens)) break
    kept.push(column)
    free -= needed
  }
  return kept
}

// Whether the columns beside a text leave too little room for it. Its outcomes are read first, and may stand above it.
function isCrowded(columns, width) {
  const rest = columns.filter((column) => !column.opens).reduce((sum, column) => sum + column.width + GAP, 0)
  return rest > (columns.some((column) => column.form === 'outcomes') ? 0.33 : 0.42) * width
}

const tracks = (columns, hasBoxes) => [hasBoxes && '20px',
  ...columns.map((column) => (column.grows ? `minmax(0, ${column.width}fr)` : `${column.width}px`))].filter(Boolean).join(' ')

class List {
  constructor(place) {
    this.root = made('div', 'list')
    this.root.setAttribute('role', 'grid')
    this.unfolded = new Set() // groups of which all rows are shown
    this.place = made('div', 'records', this.root)
    place.append(this.place)
    this.root.addEventListener('keydown', (event) => this.press(event))
    this.root.addEventListener('mouseover', ({ target }) => this.hint(target))
    this.watcher = new ResizeObserver(() => this.data && this.draw())
    this.watcher.observe(this.place)
    this.pane = this.place.getRootNode().host?.closest('[data-testid=stColumn]')
    this.paneWatcher = new ResizeObserver(() => this.reveal())
    for (const moving of [this.pane, this.pane?.closest('[data-testid=stMainBlockContainer]')]) if (moving) this.paneWatcher.observe(moving)
    for (const act of ['wheel', 'pointerdown', 'keydown']) this.pane?.addEventListener(act, this.leave, { passive: true })
  }

  show(data, send) {
    const last = this.data?.opened
    this.send = send
    this.data = data
    if (data.opened !== last) this.awaited = data.opened ?? last
    this.draw()
    this.reveal()
  }

  draw() {
    const { columns, rows, selected, label, order, tall } = this.data
    const width = this.place.clientWidth || 900, isNarrow = width < 560
    const isMiddling = tall && width < 820
    const hasButtons = columns.some((column) => column.form === 'button') // such a list has a layout of its own
    this.columns = isMiddling || hasButtons ? columns : fitting(columns, width, selected)
    const isStacked = !tall && !hasButtons && isNarrow && isCrowded(this.columns, width)
    if (isStacked) this.columns = fitting(columns, width, selected, true)
    const look = JSON.stringify([rows, this.columns, label, order, Boolean(selected), isNarrow, isMiddling, isStacked])
    if (look !== this.look) {
      const active = this.root.getRootNode().activeElement?.closest?.('.row')?.dataset.id
      this.root.className = ['list', label.toLowerCase(), tall ? 'tall' : 'flat', columns.some((column) => column.form === 'task') && 'two-lines', this.data.is_still && 'still', isMiddling && !isNarrow && 'middling', isNarrow && 'narrow',
        isStacked && 'stacked'].filter(Boolean).join(' ')
      this.root.style.setProperty('--tracks', tracks(this.columns, selected))
      this.root.setAttribute('aria-label', label)
      this.root.replaceChildren(heading(this), ...rows.flatMap((row, at) => [...groupHeading(row, rows[at - 1]), line(row, this), ...groupRest(row, rows[at + 1], this)]))
      this.width = 0
      if (active !== undefined) this.rowOf(active)?.focus({ preventScroll: true })
    }
    this.look = look
    if (width !== this.width) fit([...this.root.querySelectorAll(`.row[data-id] ${tall ? ':is(.lead, .story, .advice)' : '[data-whole]'}`)])
    this.width = width
    this.mark()
  }

  // What a person chose or opened changes without a new list, so that the focus stays.
  mark() {
    const chosen = new Set(this.data.selected), { opened } = this.data, rows = this.rows()
    for (const row of rows) {
      const check = row.querySelector('input'), isChosen = chosen.has(row.dataset.id)
      if (check) {
        check.checked = isChosen
        row.setAttribute('aria-selected', String(isChosen))
      }
      row.classList.toggle('open', row.dataset.id === opened)
      row.querySelector('button.title')?.setAttribute('aria-expanded', String(row.dataset.id === opened))
    }
    const reached = rows.find((row) => row.tabIndex === 0) ?? rows.find((row) => row.dataset.id === opened) ?? rows[0]
    if (reached) reached.tabIndex = 0
    this.fold()
    const all = this.root.querySelector('input[data-all]'), boxed = rows.filter((row) => row.querySelector('input'))
    const n = boxed.filter((row) => chosen.has(row.dataset.id)).length
    if (!all) return
    all.checked = n > 0 && n === boxed.length
    all.indeterminate = n > 0 && n < boxed.length
  }

  groupOf(group) {
    return this.data.rows.filter((row) => row.group === group)
  }

  // Of a long group among others, only the first rows are shown, until the rest is asked for or one of it is opened.
  fold() {
    for (const rest of this.root.querySelectorAll('.rest')) {
      const { group } = rest.dataset, ids = this.groupOf(group).slice(GROUP_ROWS).map((row) => row.id)
      if (ids.includes(this.data.opened) || new Set(this.data.rows.map((row) => row.group)).size === 1) this.unfolded.add(group)
      rest.hidden = this.unfolded.has(group)
      for (const id of ids) this.rowOf(id).hidden = !rest.hidden
    }
  }

  // Who scrolls the list is not taken back.
  leave = () => (this.awaited = undefined)

  // The row of a record that was opened, or closed, is kept in view while the page around it comes to rest.
  reveal() {
    const row = this.rowOf(this.awaited), isPane = this.pane && getComputedStyle(this.pane).overflowY === 'auto'
    if (!row || isPane !== Boolean(this.data.opened) || innerWidth <= 640) return
    const { top, bottom, height } = row.getBoundingClientRect()
    const frame = isPane ? this.pane.getBoundingClientRect() : { top: 0, bottom: innerHeight }
    const first = frame.top + this.root.firstElementChild.offsetHeight, last = Math.min(frame.bottom, innerHeight)
    if (!isPane) this.awaited = undefined
    if (top >= first && bottom <= last) return
    if (isPane) this.pane.scrollTop += top - first - Math.max(0, last - first - height) / 3
    row.scrollIntoView({ block: isPane ? 'nearest' : 'center' }) // the last rows may be below the window
  }

  rows() {
    return [...this.root.querySelectorAll('.row[data-id]')]
  }

  rowOf(id) {
    return this.rows().find((row) => row.dataset.id === id)
  }

  open(id) {
    this.send('opened', id)
    if (innerWidth <= 640) document.querySelector('[data-testid=stMain]')?.scrollTo({ top: 0 }) // the record is above the list
  }

  choose(id, isChosen, isRange) {
    const ids = this.data.rows.map((row) => row.id), from = isRange ? ids.indexOf(this.last) : -1, to = ids.indexOf(id)
    this.last = id
    this.send('chosen', { ids: from < 0 ? [id] : ids.slice(Math.min(from, to), Math.max(from, to) + 1), isChosen })
  }

  press(event) {
    const row = event.target.closest('.row[data-id]')
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return
    const rows = this.rows().filter((other) => !other.hidden), at = rows.indexOf(row)
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key]
    if (next !== undefined) this.reach(rows[Math.min(Math.max(next, 0), rows.length - 1)])
    else if (event.key === 'Enter' && !this.data.is_still) this.open(row.dataset.id)
    else if (event.key === ' ' && this.data.selected) this.choose(row.dataset.id, row.getAttribute('aria-selected') !== 'true', false)
    else return
    event.preventDefault()
  }

  reach(row) {
    for (const other of this.rows()) other.tabIndex = other === row ? 0 : -1
    row.focus()
  }

  // The whole of a text that is cut by its column is shown on hover.
  hint(target) {
    const text = target.closest?.('[data-whole]'), cell = target.closest?.('.cell')
    if (cell?.task) cell.title = cell.task
    else if (text?.isCut) text.title = text.whole
  }

  remove() {
    this.watcher.disconnect()
    this.paneWatcher.disconnect()
    for (const act of ['wheel', 'pointerdown', 'keydown']) this.pane?.removeEventListener(act, this.leave)
    this.place.remove()
  }
}

const mounted = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  const list = mounted.get(parentElement) ?? new List(parentElement)
  mounted.set(parentElement, list)
  list.show(data, setTriggerValue)
  const call = (list.call = Symbol())
  return () => {
    if (list.call !== call) return
    list.remove()
    mounted.delete(parentElement)
  }
}
