// Two attempts side by side, each scrolled to the step where they part. Their texts are put in as text content.

const made = (name, className, ...children) => {
  const element = document.createElement(name)
  element.className = className
  element.append(...children.filter((child) => child !== null))
  return element
}

function step({ texts, is_error: isError }, number, parting) {
  const isShared = parting === null || number < parting
  const badges = [
    isError ? made('span', 'error', 'error') : null,
    number === parting ? made('span', 'parts', 'here they part') : null,
  ]
  const element = made('li', isShared ? 'step shared' : 'step',
    made('div', 'number', `Step ${number}`, ...badges),
    ...texts.map(([name, text]) => made('div', 'text', made('span', 'name', name), made('pre', '', text))))
  if (number === parting) element.classList.add('parting')
  return element
}

function trace(data, parting) {
  const steps = data.steps.map((each, place) => step(each, place + 1, parting))
  const list = made('ol', 'steps', ...steps)
  if (!steps.length) list.append(made('li', 'step', 'The source kept no steps.'))
  else if (parting > steps.length) list.append(made('li', 'step parting', 'It ended here.'))
  const scrolled = made('div', 'scrolled', made('p', 'task', data.task), list,
    data.ending ? made('p', 'ending', data.ending) : null)
  scrolled.tabIndex = 0
  scrolled.setAttribute('role', 'region')
  scrolled.setAttribute('aria-label', `Steps: ${data.heading}`)
  return made('section', 'trace',
    made('h4', '', data.heading, made('span', 'outcome', data.outcome)),
    data.used.length ? made('p', 'used', 'Used ', data.used.join(' · ')) : null,
    scrolled)
}

export default function ({ data, parentElement }) {
  const root = made('div', 'atlas-traces', ...data.traces.map((each) => trace(each, data.parting)))
  parentElement.querySelector('.atlas-traces')?.remove()
  parentElement.append(root)
  const frame = requestAnimationFrame(() => {
    for (const scrolled of root.querySelectorAll('.scrolled')) {
      const parting = scrolled.querySelector('.parting')
      if (parting && data.parting > 1) scrolled.scrollTop = parting.offsetTop - 8
    }
  })
  return () => {
    cancelAnimationFrame(frame)
    root.remove()
  }
}
