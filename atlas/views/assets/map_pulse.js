// The live pulse: rings around what an agent retrieved or stored just now, and lines that say so.
//
//   const pulse = livePulse(map, ticker)
//   pulse.take({ points, turn, retrieved: [point …], stored: [point …], lines: [text …] })   each turn is shown once
//   pulse.draw()

const PULSE_MILLISECONDS = 2600
const TOLD_MILLISECONDS = 15000
const RINGS = 3
let shownTurn = '' // outlives the map, so that coming back to the page pulses nothing again

function livePulse(map, ticker) {
  let beats = [], begun = 0, hiding = 0
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
    hiding = map.later(() => (ticker.hidden = true), TOLD_MILLISECONDS)
    map.dirty()
  }

  function draw() {
    if (!beats.length) return
    const share = passed()
    if (share >= 1) beats = []
    for (const [point, isStored] of beats) if (point < map.points.n) drawBeat(point, isCalm() ? 0.4 : (share * RINGS) % 1, isStored)
    map.dirty()
  }

  const drawBeat = (point, share, isStored) =>
    map.overlay.ring(point, map.camera.pointSize() / 2 + 4 + 22 * share, isStored ? map.theme.text : map.theme.accent, 3.2 - 2.4 * share)

  ticker.hidden = true
  return { take, draw, n: () => beats.length }
}
