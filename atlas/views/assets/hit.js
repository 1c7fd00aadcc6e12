// A hit as a card. Whatever comes from a memory is put in as text content, never as HTML.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children.filter((child) => child !== null && child !== ''))
  return element
}

/** The first line: the title, or else how it went, and the place in the block. */
const heading = (card) => made('div', 'heading',
  ...(card.title ? [made('span', 'title', card.title)] : outcome(card)),
  ...(card.place ? placed(card.place) : []))

const outcome = (card) => [made('span', 'outcome', card.outcome), card.attempts ? made('span', 'attempts', card.attempts) : null]

function relevance(card) {
  if (card.relevance === null) return null
  const element = made('div', 'relevance', made('b', '', card.relevance), ' relevance')
  element.title = card.bar ? card.bar.words : ''
  return element
}

// The place of a hit in the context block of the same page, which is another component: they meet on the window.
const point = (side, place, jumps) =>
  window.dispatchEvent(new CustomEvent('atlas-place', { detail: { side, place, jumps } }))

function placed({ number, memory, side, note }) {
  if (!number) return [made('span', 'note left', `left out: ${note}`)]
  const button = made('button', `place ${memory}`, String(number))
  button.type = 'button'
  button.title = 'Show its place in the block'
  button.setAttribute('aria-label', `Show place ${number} in the block`)
  button.addEventListener('click', () => point(side, number, true))
  return [made('span', 'note', note), button]
}

const passage = (card) => made('p', 'passage',
  made('span', 'source', card.source),
  card.before ? '… ' : '',
  ...card.pieces.map(([text, isMatch]) => (isMatch ? made('mark', '', text) : text)),
  card.after ? ' …' : '')

function track(bar) {
  const drawn = bar.segments.filter((segment) => segment.width > 0).map((segment) => {
    const part = made('i', segment.below ? 'segment below' : 'segment')
    part.style.left = `${segment.start * 100}%`
    part.style.width = `${segment.width * 100}%`
    part.style.setProperty('--colour', segment.colour)
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
    const swatch = made('i', segment.below ? 'swatch below' : 'swatch')
    swatch.style.setProperty('--colour', segment.colour)
    return made('li', segment.width ? '' : 'nothing', swatch, `${segment.name} `, made('b', '', segment.value))
  })
  return made('ul', 'legend', ...entries, made('li', 'total', '= ', made('b', '', bar.total)))
}

function why(card) {
  if (!card.bar && !card.sentence) return null
  const summary = made('summary', '', 'Why it ranks here')
  return made('details', 'why', summary, ...(card.bar ? [track(card.bar), legend(card.bar)] : []),
    card.sentence ? made('p', 'sentence', card.sentence) : null)
}

export default function ({ data, parentElement }) {
  const card = made('article', data.relevance === null ? 'atlas-hit' : 'atlas-hit scored',
    relevance(data),
    made('div', 'body',
      heading(data),
      data.title ? made('div', 'record', ...outcome(data)) : null,
      passage(data),
      why(data)))
  const was = parentElement.querySelector('.atlas-hit')
  const details = card.querySelector('.why')
  if (details) details.open = was?.querySelector('.why')?.open ?? data.open
  was?.remove()
  parentElement.append(card)
  const { number, side } = data.place ?? {}
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
    window.removeEventListener('atlas-place', light)
    card.remove()
  }
}
