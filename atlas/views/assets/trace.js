// One trajectory as a conversation, or two side by side. All texts of a trajectory are put in as text content.

const LINES = 8 // of a long output that show at first
const AFTER_ERROR = 2 // lines that show after the one that reports an error, before those above it
const COLUMNS = 90

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ''))
  return element
}

const button = (className, label, act, title = '') => {
  const element = made('button', className, label)
  element.type = 'button'
  if (title) element.title = title
  element.addEventListener('click', act)
  return element
}

// A person, a robot, a thought, a wrench and a terminal, on 24 by 24 units.
const SHAPES = {
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm0 2c-4 0-8 2-8 5v1h16v-1c0-3-4-5-8-5z',
  agent: 'M11 2h2v3h5a2 2 0 0 1 2 2v11a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2h5zM8 9v3h2V9zm6 0v3h2V9zM8 15v2h8v-2z',
  thought: 'M4 10h4v4H4zm6 0h4v4h-4zm6 0h4v4h-4z',
  tool: 'M22 19l-9-9c1-2 .4-5-1.5-7C9.6 1 6.6.6 4.2 1.7L8.5 6l-3 3L1 4.7c-1 2.4-.6 5.4 1.4 7.4 2 2 4.6 2.4 7 1.5l9 9c.4.4 1 .4 1.4 0l2.2-2.2c.5-.4.5-1 0-1.4z',
  environment: 'M2 4h20v16H2zM5 8l4 4-4 4 1.5 1.5L12 12 6.5 6.5zM12 15v2h7v-2z',
}

const symbol = (name, title = '') => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
  svg.setAttribute('viewBox', '0 0 24 24')
  path.setAttribute('d', SHAPES[name])
  path.setAttribute('fill-rule', 'evenodd')
  svg.append(path)
  const element = made('span', 'symbol', svg)
  element.setAttribute('aria-hidden', 'true')
  if (title) element.title = title
  return element
}

// A text with the words that were looked for marked.
function marked(text, words) {
  const sought = words.toLowerCase(), whole = text.toLowerCase(), pieces = []
  if (!sought || whole.length !== text.length) return [text]
  let at = 0
  for (let next; (next = whole.indexOf(sought, at)) >= 0; at = next + sought.length)
    pieces.push(text.slice(at, next), made('mark', '', text.slice(next, next + sought.length)))
  return [...pieces, text.slice(at)]
}

const rows = (line) => Math.max(1, Math.ceil(line.length / COLUMNS))

// The lines of a long text that show at first: its beginning, or the line that reports an error with those around it.
function excerpt(lines, errorLine) {
  let start = Math.min(errorLine, lines.length - 1), end = start + 1, room = LINES - rows(lines[start])
  const fits = (line) => line !== undefined && rows(line) <= room
  const takeNext = () => { room -= rows(lines[end]); end += 1 }
  for (let n = 0; n < AFTER_ERROR && fits(lines[end]); n += 1) takeNext()
  while (fits(lines[start - 1])) { start -= 1; room -= rows(lines[start]) }
  while (fits(lines[end])) takeNext()
  return [start, end]
}

// A text that folds if it is long. `opened` keeps what a person unfolded.
function folding(turn, text, key, { opened, words }) {
  const pre = made('pre', turn.form === 'speech' || turn.form === 'thought' ? 'prose' : '')
  const lines = text.split('\n')
  const isLong = lines.reduce((n, line) => n + rows(line), 0) > LINES + 4
  if (!isLong) {
    pre.append(...marked(text, words))
    return [pre]
  }
  const [start, end] = excerpt(lines, turn.is_error ? turn.error_line : 0)
  const toggle = button('fold', '', () => {
    opened.set(key, !isOpen())
    draw()
  })
  const isOpen = () => opened.get(key) ?? turn.has_words
  const draw = () => {
    const part = lines.slice(start, end).join('\n')
    const cut = part.length > LINES * COLUMNS ? `${part.slice(0, LINES * COLUMNS)}…` : part
    pre.replaceChildren(...marked(isOpen() ? text : `${start ? '…\n' : ''}${cut}`, words))
    pre.classList.toggle('cut', !isOpen())
    const size = lines.length > 1 ? `${lines.length.toLocaleString('en')} lines` : `${text.length.toLocaleString('en')} characters`
    toggle.textContent = isOpen() ? 'Fold' : `Show all ${size}`
    toggle.setAttribute('aria-expanded', String(isOpen()))
  }
  draw()
  return [pre, toggle]
}

function whole(turn, { send }) {
  if (!turn.n_cut || !send) return null
  return button('fold', `Load the rest, ${turn.n_cut.toLocaleString('en')} of ${turn.n_characters.toLocaleString('en')} characters`,
    () => send('whole', turn.key))
}

// A call on one line that opens to its arguments.
function called(turn, context) {
  const key = `${context.name}.${turn.key}`
  const body = made('dl', 'arguments')
  const toggle = button('call', '', () => {
    context.opened.set(key, !isOpen())
    draw()
  })
  const isOpen = () => context.opened.get(key) ?? turn.has_words
  const draw = () => {
    toggle.replaceChildren(made('b', '', ...marked(turn.speaker, context.words)),
      made('span', 'summary', isOpen() ? '' : turn.summary || 'without arguments'))
    toggle.setAttribute('aria-expanded', String(isOpen()))
    body.hidden = !isOpen()
    if (!isOpen() || body.childElementCount) return
    turn.arguments.forEach(([name, value], place) => body.append(
      made('dt', '', name), made('dd', '', ...folding(turn, value, `${key}.${place}`, context))))
  }
  draw()
  return [toggle, body]
}

function more(turn, context) {
  const element = made('details', 'more', made('summary', '', turn.speaker), made('pre', '', ...marked(turn.text, context.words)))
  element.open = turn.has_words
  return element
}

// Speakers that their symbol and the look of their texts tell already.
const PLAIN = ['Agent thinks', 'Agent acts', 'Agent calls', 'Agent', 'Environment']

function errorMark(passes) {
  const element = made('span', 'error', passes?.mark ?? 'error')
  if (passes) element.title = passes.evidence
  return element
}

function bubble(turn, passes, context) {
  if (turn.form === 'more') return more(turn, context)
  const key = `${context.name}.${turn.key}`
  const content = turn.form === 'call' ? called(turn, context) : folding(turn, turn.text, key, context)
  const title = { thought: 'Agent thinks', code: 'Agent acts', call: 'Agent calls' }[turn.form] ?? turn.speaker
  const isNamed = !PLAIN.includes(title)
  const who = made('span', isNamed ? 'who' : 'unseen', title, turn.role === 'tool' ? made('span', 'kind', ' returns') : null)
  const element = made('div', `turn ${turn.role} ${turn.form}`,
    symbol(turn.form === 'thought' ? 'thought' : turn.role, title),
    made('div', 'content', turn.is_error ? errorMark(passes) : null, who, ...content, whole(turn, context)))
  if (turn.is_error) element.classList.add('failed', ...(passes?.is_same ? ['passes-later'] : []))
  return element
}

const number = (of) => made('span', 'number', made('span', 'unseen', 'Step '), of.toLocaleString('en'))

function step(each, parting, context) {
  const isShared = parting !== null && each.number < parting
  const element = made('li', isShared ? 'step shared' : 'step',
    number(each.number),
    made('div', 'turns',
      each.number === parting ? made('div', 'parts', 'Here they part') : null,
      ...each.turns.map((turn) => bubble(turn, each.passes, context)),
      each.note ? made('div', 'note', each.note) : null))
  element.dataset.step = each.number
  if (each.number === parting) element.classList.add('parting')
  return element
}

// The number after a place among some, or before it. Behind the last one comes the first.
const neighbour = (numbers, at, isNext) => isNext
  ? numbers.find((number) => number > at) ?? numbers[0]
  : numbers.findLast((number) => number < at) ?? numbers.at(-1)

function bar(trace, context, go) {
  const jump = (numbers, name, isNext) => {
    const element = button('jump', isNext ? `↓ Next ${name}` : '↑', () => go(neighbour(numbers, context.at, isNext)))
    element.setAttribute('aria-label', `${isNext ? 'Next' : 'Previous'} ${name}`)
    return element
  }
  const jumps = (numbers, name) => numbers.length > 1 ? [jump(numbers, name, false), jump(numbers, name, true)]
    : numbers.map((number) => button('jump', `↓ Go to the ${name}`, () => go(number)))
  const element = made('div', 'bar', made('span', 'sum', trace.summary), ...jumps(trace.errors, 'error'))
  if (context.finds && trace.n > 1) {
    const box = made('input', 'find')
    Object.assign(box, { type: 'search', placeholder: 'Find in steps', value: trace.words })
    box.setAttribute('aria-label', 'Find in steps')
    box.addEventListener('change', () => context.send('words', box.value))
    element.append(box)
    if (trace.words) element.append(...jumps(trace.matches, 'match'),
      made('span', 'sum', `${trace.matches.length.toLocaleString('en')} of ${trace.n.toLocaleString('en')} steps`))
  }
  return element
}

function pager(trace, go) {
  if (trace.first === 1 && trace.last === trace.n) return null
  const [first, last, n] = [trace.first, trace.last, trace.n].map((number) => number.toLocaleString('en'))
  return made('div', 'pager',
    trace.first > 1 ? button('jump', '← Earlier steps', () => go(trace.first - 1)) : null,
    made('span', 'sum', `Steps ${first} to ${last} of ${n}`),
    trace.last < trace.n ? button('jump', 'Later steps →', () => go(trace.last + 1)) : null)
}

// What scrolls the steps: their own frame, or what is around them where they have none.
function scrollerOf(frame) {
  for (let element = frame; element; element = element.parentElement ?? element.getRootNode().host)
    if (element.scrollHeight > element.clientHeight && /auto|scroll/.test(getComputedStyle(element).overflowY)) return element
  return frame
}

function conversation(trace, place, data, viewer) {
  const context = { name: place, opened: viewer.opened, words: trace.words, at: trace.at, finds: data.finds, send: viewer.send }
  const { parting } = data
  const list = made('ol', 'steps', ...trace.steps.map((each) => step(each, parting, context)))
  if (!trace.n) list.append(made('li', 'step empty', 'The source kept no steps.'))
  else if (parting !== null && parting > trace.n) list.append(made('li', 'step parting', 'It ended here.'))
  const scrolled = made('div', 'scrolled', trace.task ? made('p', 'task', trace.task) : null, list,
    trace.ending && trace.last === trace.n ? made('p', 'ending', trace.ending) : null)
  scrolled.tabIndex = 0
  scrolled.setAttribute('role', 'region')
  scrolled.setAttribute('aria-label', trace.heading ? `Steps: ${trace.heading}` : 'Steps')
  const show = (number) => {
    const element = scrolled.querySelector(number === parting ? '.parting' : `[data-step="${number}"]`)
    if (!element) return false
    scrolled.querySelector('.current')?.classList.remove('current')
    if (number !== parting) element.classList.add('current')
    const pane = scrollerOf(scrolled), above = pane === scrolled ? 8 : barOf.offsetHeight + (parseFloat(getComputedStyle(barOf).top) || 0) + 8
    const { top } = element.getBoundingClientRect(), failed = element.querySelector('.failed, mark')
    const below = failed ? failed.getBoundingClientRect().bottom - top - pane.clientHeight + above + 16 : 0
    pane.scrollTop += top - above - pane.getBoundingClientRect().top + Math.max(0, below)
    context.at = number
    return true
  }
  const go = (number) => show(number) || viewer.send('step', number)
  const head = trace.heading ? made('h4', '', trace.heading, made('span', `chip ${{ '✓': 'good', '✗': 'bad' }[trace.outcome[0]] ?? ''}`, trace.outcome)) : null
  const used = trace.used?.length ? made('p', 'used', 'Used ', trace.used.join(' · ')) : null
  const barOf = bar(trace, context, go)
  const element = made('section', 'trace', head, used, barOf, scrolled, pager(trace, go))
  return { element, show, scrolled }
}

function draw(viewer, data) {
  const before = viewer.conversations
  const conversations = data.traces.map((trace, place) => conversation(trace, place, data, viewer))
  viewer.root.replaceChildren(...conversations.map((each) => each.element))
  viewer.conversations = conversations
  viewer.frame = requestAnimationFrame(() => conversations.forEach((each, place) => {
    const trace = data.traces[place]
    const isJump = trace.jump !== viewer.jump || !before
    if (!isJump) each.scrolled.scrollTop = before[place]?.top ?? 0
    else if (trace.at > 1) each.show(trace.at)
    if (isJump && before && scrollerOf(each.scrolled) === each.scrolled) viewer.root.scrollIntoView({ block: 'nearest' })
    if (place === conversations.length - 1) viewer.jump = trace.jump
  }))
}

const mounted = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  let viewer = mounted.get(parentElement)
  if (!viewer) {
    viewer = { root: made('div', 'atlas-traces'), opened: new Map() }
    mounted.set(parentElement, viewer)
    parentElement.append(viewer.root)
  }
  viewer.send = setTriggerValue
  const look = JSON.stringify(data)
  if (look !== viewer.look) {
    for (const each of viewer.conversations ?? []) each.top = each.scrolled.scrollTop
    if (viewer.id !== data.id) Object.assign(viewer, { opened: new Map(), conversations: undefined, id: data.id })
    draw(viewer, data)
    viewer.look = look
  }
  const call = (viewer.call = Symbol())
  return () => {
    if (viewer.call !== call) return
    cancelAnimationFrame(viewer.frame)
    viewer.root.remove()
    mounted.delete(parentElement)
  }
}
