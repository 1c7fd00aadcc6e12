// The live pulse: rings around what an agent retrieved or stored just now, and lines that say so.
//
//   const pulse = livePulse(ticker, redraw)
//   pulse.take({ points, turn, retrieved: [point …], stored: [point …], lines: [text …] })   each turn is shown once
//   pulse.draw(ring)    ring(point, share, isStored) draws one of them, share of its time having passed
//   pulse.stop()

const PULSE_MILLISECONDS = 2600
const TOLD_MILLISECONDS = 15000
const RINGS = 3
let shownTurn = '' // outlives the map, so that coming back to the page pulses nothing again

function livePulse(ticker, redraw) {
  let beats = [], begun = 0, hiding = 0
  const isCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches
  const passed = () => (performance.now() - begun) / PULSE_MILLISECONDS

  function take({ points, turn, retrieved, stored, lines }) {
    const now = `${turn} ${points}`
    if (!turn || now === shownTurn) return
    shownTurn = now
    beats = [...retrieved.map((i) => [i, false]), ...stored.map((i) => [i, true])]
    begun = performance.now()
    ticker.replaceChildren(...lines.map((text) => Object.assign(document.createElement('div'), { textContent: text })))
    ticker.hidden = !lines.length
    clearTimeout(hiding)
    hiding = setTimeout(() => (ticker.hidden = true), TOLD_MILLISECONDS)
    redraw()
  }

  function draw(ring) {
    if (!beats.length) return
    const share = passed()
    if (share >= 1) beats = []
    for (const [point, isStored] of beats) ring(point, isCalm() ? 0.4 : (share * RINGS) % 1, isStored)
    redraw()
  }

  ticker.hidden = true
  return { take, draw, n: () => beats.length, stop: () => clearTimeout(hiding) }
}
