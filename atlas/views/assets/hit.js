// A hit as a card. Whatever comes from a memory is put in as text content, never as HTML.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children.filter((child) => child !== null && child !== ''))
  return element
}

const heading = (card) => made('div', 'heading',
  made('span', 'outcome', card.outcome),
  card.attempts ? made('span', 'attempts', card.attempts) : null,
  card.relevance === null ? null : made('span', 'relevance', 'relevance ', made('b', '', card.relevance)))

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

export default function ({ data, parentElement }) {
  const card = made('article', 'atlas-hit',
    heading(data),
    data.title ? made('div', 'title', data.title) : null,
    passage(data),
    ...(data.bar ? [track(data.bar), legend(data.bar)] : []),
    data.sentence ? made('p', 'sentence', data.sentence) : null)
  parentElement.querySelector('.atlas-hit')?.remove()
  parentElement.append(card)
  return () => card.remove()
}
