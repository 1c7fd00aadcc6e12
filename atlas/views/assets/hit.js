// A hit as a card. Whatever comes from a memory is put in as text content, never as HTML.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children.filter(Boolean))
  return element
}

/** The first line: the title, or the passage that begins with it, and the place in the block. */
const heading = (card) => made('div', 'heading',
  card.title ? made('span', 'title', card.title) : card.is_titled ? null : passage(card, 'passage title'),
  ...(card.place ? placed(card.place) : []))

/** How the record went, as lists show it. */
const record = (card) => made('span', 'record',
  card.badge && !card.attempts && made('span', `chip ${card.badge.colour}`, card.badge.text),
  ...[card.outcome, card.attempts].map((text) => text && made('span', '', text)))

// The relevance on a line from 0 to 1, with a stroke at the level that a hit needs.
function scale(value, level) {
  const fill = made('i', 'fill'), cut = made('i', 'cut'), line = made('span', 'scale', fill, cut)
  fill.style.width = `${100 * value}%`
  cut.style.left = `${100 * level}%`
  return line
}

function relevance(card) {
  if (card.relevance === null) return null
  const { level, strength } = card.place ?? {}
  const element = strength ? made('div', 'relevance', made('b', '', strength), scale(card.relevance, level), card.relevance)
    : made('div', 'relevance', made('b', 'figure', card.relevance), ' relevance')
  element.title = [card.bar?.words, strength && `Relevance, from 0 to 1. Stroke: ${level.toFixed(2)}, the level that a hit of this memory needs`].filter(Boolean).join('. ')
  return element
}

// The place of a hit in the context block of the same page, which is another component: they meet on the window.
const point = (side, place, jumps) =>
  window.dispatchEvent(new CustomEvent('atlas-place', { detail: { side, place, jumps } }))

function placed({ number, memory, side, note }) {
  if (!number) return [made('span', 'note left', `left out: ${note}`)]
  const button = made('button', `place ${memory}`, String(number))
  button.type = 'button'
  button.title = 'Show what an agent is told of it'
  button.setAttribute('aria-label', `Show place ${number} in the block`)
  button.addEventListener('click', () => point(side, number, true))
  return [made('span', 'note', note), button]
}

const passage = (card, look) => cuttable(made('p', look), card.pieces, (pieces, isCut) => [
  card.is_titled ? made('span', 'source', `${card.source}:`) : '',
  card.before ? '… ' : '',
  ...words(pieces, card.parameters),
  isCut ? '…' : card.after ? ' …' : ''])

/** What the record says to do. */
const lead = (card) => card.lead && cuttable(made('p', 'passage lead'), card.lead.pieces, (pieces, isCut) => [
  made('span', 'source', `${card.lead.source}:`), ...words(pieces, card.parameters), isCut ? '…' : ''])

function cuttable(element, pieces, draw) {
  const put = (shown, isCut) => element.replaceChildren(...draw(shown, isCut).filter((child) => child !== ''))
  put(pieces, false)
  return Object.assign(element, { pieces, put })
}

/** The first words of a passage, without a sign at their end. */
function beginning(pieces, n) {
  const shown = []
  for (const [text, isMatch] of pieces) {
    const parts = text.match(/\s*\S+|\s+$/g) ?? []
    if (parts.length >= n) return [...shown, [parts.slice(0, n).join('').replace(/[\s,;:.(–-]+$/, ''), isMatch]]
    n -= parts.length
    shown.push([text, isMatch])
  }
  return shown
}

/** A passage that its lines cut ends with a whole word. */
function fit(element) {
  element.put(element.pieces, false)
  element.style.webkitLineClamp = ''
  const height = element.clientHeight + 1
  element.style.webkitLineClamp = 'none' // what a clamp cuts does not count as overflow
  const isHigh = () => element.clientHeight > height
  if (isHigh()) {
    let most = 0, least = element.pieces.reduce((n, [text]) => n + text.split(/\s+/).length, 0)
    while (least - most > 1) {
      const middle = (most + least) >> 1
      element.put(beginning(element.pieces, middle), true)
      if (isHigh()) least = middle
      else most = middle
    }
    element.put(beginning(element.pieces, most || 1), true)
  }
  element.style.webkitLineClamp = ''
}

const words = (pieces, parameters) => pieces.flatMap((_, at) => piece(pieces, parameters, at))

/** A piece of the passage. A parameter is shown as a word without its braces, in which a match may stand. */
function piece(pieces, parameters, at) {
  const [text, isMatch] = pieces[at]
  const isParameter = (number) => pieces[number]?.[1] && parameters.includes(pieces[number][0]) &&
    pieces[number - 1]?.[0].endsWith('{') && pieces[number + 1]?.[0].startsWith('}')
  if (isMatch) return [made('mark', isParameter(at) ? 'parameter' : '', text)]
  const bare = text.slice(isParameter(at - 1) ? 1 : 0, isParameter(at + 1) ? -1 : undefined)
  return bare.split(/(\{\w+\})/).map((part) => {
    const name = part.slice(1, -1)
    return parameters.includes(name) && part === `{${name}}` ? made('span', 'parameter', name) : part
  })
}

function track(bar) {
  const drawn = bar.segments.filter((segment) => segment.width > 0).map((segment) => {
    const part = made('i', segment.below ? 'segment below' : 'segment')
    part.style.left = `${segment.start * 100}%`
    part.style.width = `${segment.width * 100}%`
    part.title = `${segment.name} ${segment.value}`
    return part
  })
  const zero = bar.zero > 0 ? made('i', 'zero') : null
  if (zero) zero.style.left = `${bar.zero * 100}%`
  const element = made('div', 'track', ...drawn, zero)
  element.setAttribute('role', 'img')
  element.setAttribute('aria-label', bar.words)
  return element
}

function legend(bar) {
  const entries = bar.segments.map((segment) => {
    const entry = made('li', segment.width ? '' : 'nothing', `${segment.name} `, made('b', '', segment.value))
    if (segment.name === 'use') entry.title = 'The share of its uses that succeeded, or one half before its first use'
    return entry
  })
  return made('ul', 'legend', ...entries, made('li', 'total', '= ', made('b', '', bar.total)))
}

/** How the record went, beside why it was found. */
function why(card) {
  if (!card.bar && !card.sentence) return record(card)
  const summary = made('summary', '', record(card), made('span', 'asked', 'Why'))
  summary.title = 'All signals of its rank'
  return made('details', 'why', summary, ...(card.bar ? [track(card.bar), legend(card.bar)] : []),
    card.sentence ? made('p', 'sentence', card.sentence) : null)
}

export default function ({ data, parentElement }) {
  const { number, side, memory, strength, looks } = data.place ?? {}
  const classes = ['atlas-hit', data.relevance === null ? '' : 'scored', data.place ? (number ? `shown ${memory}` : 'left-out') : '', strength ?? '', ...looks ?? []]
  const card = made('article', classes.join(' '),
    relevance(data),
    made('div', 'body',
      heading(data),
      lead(data),
      data.is_titled ? passage(data, data.lead ? 'passage second' : 'passage') : null,
      why(data)))
  const was = parentElement.querySelector('.atlas-hit')
  const details = card.querySelector('.why')
  if (details) details.open = was?.querySelector('.why')?.open ?? data.open
  was?.remove()
  parentElement.append(card)
  let width = 0
  const refit = () => card.querySelectorAll('.passage').forEach(fit)
  const watcher = new ResizeObserver(() => card.clientWidth !== width && ((width = card.clientWidth), refit()))
  watcher.observe(card)
  details?.addEventListener('toggle', refit)
  const light = ({ detail }) => {
    const isMeant = detail.side === side && detail.place === number
    card.classList.toggle('pointed', isMeant)
    if (isMeant && detail.calls) card.scrollIntoView({ block: 'center', behavior: 'smooth' })
  }
  if (number) {
    window.addEventListener('atlas-place', light)
    card.addEventListener('pointerenter', () => point(side, number, false))
    card.addEventListener('pointerleave', () => point(side, 0, false))
  }
  return () => {
    watcher.disconnect()
    window.removeEventListener('atlas-place', light)
    card.remove()
  }
}
