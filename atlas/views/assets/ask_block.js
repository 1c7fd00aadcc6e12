// The context block in pieces, each with the number of its place. What memories hold is put in as text content.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children)
  return element
}

const point = (place, calls) => window.dispatchEvent(new CustomEvent('atlas-place', { detail: { place, calls } }))

function drawn({ text, memory, place }) {
  if (!place) return made('pre', 'frame', text)
  const number = made('button', 'place', String(place))
  number.type = 'button'
  number.title = 'Show the hit'
  number.setAttribute('aria-label', `Show hit ${place}`)
  number.addEventListener('click', () => point(place, true))
  const piece = made('div', `piece ${memory}`, number, made('pre', '', text))
  piece.dataset.place = place
  piece.addEventListener('pointerenter', () => point(place, false))
  piece.addEventListener('pointerleave', () => point(0, false))
  return piece
}

export default function ({ data, parentElement }) {
  const root = made('div', 'atlas-block', ...data.pieces.map(drawn))
  root.tabIndex = 0
  root.setAttribute('role', 'region')
  root.setAttribute('aria-label', 'What an agent is told')
  parentElement.querySelector('.atlas-block')?.remove()
  parentElement.append(root)
  const light = ({ detail }) => {
    for (const piece of root.querySelectorAll('.piece')) {
      const isMeant = Number(piece.dataset.place) === detail.place
      piece.classList.toggle('pointed', isMeant)
      if (isMeant && detail.jumps) root.scrollTo({ top: piece.offsetTop - 8, behavior: 'smooth' })
    }
  }
  window.addEventListener('atlas-place', light)
  return () => {
    window.removeEventListener('atlas-place', light)
    root.remove()
  }
}
