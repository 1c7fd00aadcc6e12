// Keys that work anywhere on the page but where they mean something already.

const ACTS = { ArrowRight: 'next', ArrowLeft: 'previous', Escape: 'end' }
const BUSY = 'textarea, select, [contenteditable="true"], [role="radiogroup"], [role="slider"], [role="dialog"], ' +
  'input:not([type="checkbox"], [type="button"])'

export default function ({ setTriggerValue }) {
  const listen = (event) => {
    const isBusy = event.composedPath().some((each) => each instanceof Element && each.matches(BUSY))
    if (!(event.key in ACTS) || isBusy || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    setTriggerValue('pressed', ACTS[event.key])
  }
  window.addEventListener('keydown', listen)
  return () => window.removeEventListener('keydown', listen)
}
