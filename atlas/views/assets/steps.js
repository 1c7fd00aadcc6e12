// Brings the step that a person jumped to into view, once for each jump.
export default function ({ data }) {
  if (globalThis.atlasJump === data.jump) return
  globalThis.atlasJump = data.jump
  const step = document.querySelector(`.${CSS.escape(data.step)}`)
  if (!step) return
  step.style.scrollMarginBlock = '5rem' // the bar at the top covers what lies below it
  step.scrollIntoView({ block: step.offsetHeight > innerHeight / 2 ? 'start' : 'nearest' })
}
