// The context block in pieces, each with the number of its place. What memories hold is put in as text content.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children)
  return element
}

const PARAMETER = /(\{\w+\})/

function drawn({ text, memory, place }, point) {
  if (!place) return made('pre', 'frame', text)
  const number = made('button', 'place', String(place))
  number.type = 'button'
  number.title = 'Show where it was found'
  number.setAttribute('aria-label', `Show hit ${place}`)
  let isCalled = false // the page then scrolls the block away from the pointer, which leaves the light on
  number.addEventListener('click', () => {
    isCalled = true
    point(place, true)
  })
  const parts = memory === 'strategies' ? text.split(PARAMETER) : [text]
  const words = parts.map((part, at) => (at % 2 ? made('span', 'parameter', part) : part))
  const piece = made('div', `piece ${memory}`, number, made('pre', '', ...words))
  piece.dataset.place = place
  piece.addEventListener('pointerenter', () => point(place, false))
  piece.addEventListener('pointerleave', () => {
    if (!isCalled) point(0, false)
    isCalled = false
  })
  return piece
}

const leftOut = ({ memory, caption, relevance, reason }) => made('li', '',
  made('b', '', relevance), made('span', 'caption', `${memory}: ${caption}`), made('span', 'reason', reason))

export default function ({ data, parentElement }) {
  const { side } = data
  const point = (place, calls) => window.dispatchEvent(new CustomEvent('atlas-place', { detail: { side, place, calls } }))
  const pieces = data.pieces.filter((piece) => piece.text).map((piece) => drawn(piece, point))
  const look = data.is_low ? 'low' : data.left_out.length ? 'joined' : ''
  const root = made('div', `atlas-block ${look}`, ...pieces)
  const whole = made('div', 'whole')
  if (pieces.length) whole.append(root)
  if (data.left_out.length) {
    const list = made('ul', '', ...data.left_out.map(leftOut))
    list.tabIndex = 0
    list.setAttribute('aria-label', 'Left out')
    whole.append(made('h6', '', 'Left out'), list)
  }
  root.tabIndex = 0
  root.setAttribute('role', 'region')
  root.setAttribute('aria-label', 'What an agent is told')
  parentElement.querySelector('.whole')?.remove()
  parentElement.append(whole)
  const light = ({ detail }) => {
    for (const piece of root.querySelectorAll('.piece')) {
      const isMeant = Number(piece.dataset.place) === detail.place && side === detail.side
      piece.classList.toggle('pointed', isMeant)
      if (isMeant && detail.jumps) root.scrollTo({ top: piece.offsetTop - 8, behavior: 'smooth' })
    }
  }
  window.addEventListener('atlas-place', light)
  return () => {
    window.removeEventListener('atlas-place', light)
    whole.remove()
  }
}
