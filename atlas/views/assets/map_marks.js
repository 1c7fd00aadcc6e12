// What is marked: a question, which flies to its place, its hits, which then light up best first, and true neighbours.

const FLIGHT_MILLISECONDS = 700
const RANK_MILLISECONDS = 60
const HITS_SHOWN = 12 // best hits that a question from the map zooms to

function mapMarks(map) {
  let flight = 0, lit = 0, asked = null // the moment at which it set out, 0 when it has come; hits that are lit
  const hitsOf = () => map.marks.hits ?? []
  const theLit = () => hitsOf().slice(0, lit)

  /** Let the question of these marks set out, if it is another one. */
  function begin(layer) {
    const now = layer.hits?.length ? `${layer.asked} ${layer.hits.join()}` : ''
    if (now === asked) return
    asked = now
    flight = 0
    lit = layer.hits?.length ?? 0
    map.tools.tellQuestion(layer.asked ?? '')
    if (map.tools.hasAsked() && now) map.camera.showPoints(layer.hits.slice(0, HITS_SHOWN))
    if (!now || isCalm()) return
    flight = performance.now()
    lit = 0
  }

  function drawFlight() {
    if (!flight) return
    const hits = hitsOf(), { query } = map.marks, passed = performance.now() - flight
    const share = query ? Math.min(1, passed / FLIGHT_MILLISECONDS) : 1
    const since = passed - (query ? FLIGHT_MILLISECONDS : 0)
    if (query) {
      const [px, py] = map.camera.toScreen(...query), eased = 1 - (1 - share) ** 3
      const from = map.width - map.insets.right - 120 // where it was asked
      drawQuestion(from + (px - from) * eased, 24 + (py - 24) * eased)
    }
    const before = lit
    lit = Math.max(0, Math.min(hits.length, Math.floor(since / RANK_MILLISECONDS)))
    if (lit !== before) map.selection.light(theLit())
    if (lit >= hits.length) flight = 0
    map.dirty()
  }

  function drawQuestion(px, py) {
    const cross = [[[px - 9, py], [px + 9, py]], [[px, py - 9], [px, py + 9]]]
    for (const [width, rgb] of [[6, map.theme.ground], [2.5, map.theme.accent]]) map.overlay.line(cross, width, rgb)
    map.overlay.write('your question', px, py + 18, 11, 600, map.theme.accent)
  }

  function drawHits() {
    const hits = hitsOf()
    for (let rank = Math.min(lit, hits.length) - 1; rank >= 0; rank--) {
      const radius = map.camera.pointSize() / 2 + 3 + 6 * (1 - rank / Math.max(hits.length, 10))
      const [px, py] = map.overlay.ring(hits[rank], radius, map.theme.accent, rank < 10 ? 2.5 : 1.5)
      if (rank < 5) map.overlay.write(String(rank + 1), px + radius + 6, py, 11, 700, map.theme.accent)
    }
    if (map.marks.query && !flight) drawQuestion(...map.camera.toScreen(...map.marks.query))
  }

  function drawNeighbours() {
    const { opened, neighbours } = map.marks
    if (opened == null || !neighbours?.length) return
    const from = map.camera.where(opened)
    for (const i of neighbours) {
      map.overlay.line([[from, map.camera.where(i)]], 1.5, map.theme.text, 0.65)
      map.overlay.ring(i, map.camera.pointSize() / 2 + 2, map.theme.text, 1)
    }
  }

  const draw = () => (drawNeighbours(), drawHits(), drawFlight())
  return { begin, draw, lit: theLit, look: () => ({ lit, isFlying: Boolean(flight) }) }
}
