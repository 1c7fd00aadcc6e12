// Titles of single experiences, once one has zoomed in so far that few are on the stage. They cover neither text nor points,
// and are asked for only when the view has come to rest: a few of them, those amid the stage first.

const TITLES_MOST = 24
const TITLES_FROM = 1.6 // how much the map must be magnified
const CROWD = 250 // points on the stage up to which titles are shown
const TITLE_CHARACTERS = 34 // of a line
const TITLE_LINES = 2
const TITLE_ROOM = [110, 30] // pixels about a point in which no other one has a title
const RING_ROOM = 15 // pixels from the edge of a point that is ringed to its title, with its rank between
const TITLE_HEIGHT = 13
const REST_MILLISECONDS = 220

/** A text in lines. What does not fit ends in an ellipsis. */
function linesOfTitle(text) {
  const lines = ['']
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last && last.length + word.length >= TITLE_CHARACTERS) lines.push(word)
    else lines[lines.length - 1] = last ? `${last} ${word}` : word
  }
  const shown = lines.slice(0, TITLE_LINES)
  if (lines.length > TITLE_LINES) shown[TITLE_LINES - 1] += ' …'
  return shown.map((line) => (line.length > TITLE_CHARACTERS ? `${line.slice(0, TITLE_CHARACTERS - 1)}…` : line))
}

function mapTitles(map) {
  const texts = new Map(), sides = new Map() // the lines of each title, and the side of its point on which it stood, by the point
  let wanted = [], crowd = [], seen = '', resting = 0, shown = [], hits = new Set()

  /** The points on the stage, and where. None where there are too many to tell apart. */
  function onStage() {
    const found = [], { n } = map.points
    if (map.camera.magnification() < TITLES_FROM) return []
    for (let i = 0; i < n; i++) {
      const [px, py] = map.camera.where(i)
      if (px < 0 || py < 0 || px > map.width || py > map.height || !map.isVisible(i)) continue
      if (found.length === CROWD) return []
      found.push({ i, px, py })
    }
    return found
  }

  /** Choose which have a title: what had one keeps it, then those nearest to the middle of the stage. Once asked, hits alone. */
  function choose() {
    crowd = onStage()
    hits = new Set(map.marks.hits)
    const held = new Set(wanted), [room, tall] = TITLE_ROOM
    const far = ({ i, px, py }) => (held.has(i) ? 0 : 1e9) + Math.hypot(px - map.width / 2, py - map.height / 2)
    const taken = []
    for (const { i, px, py } of crowd.filter((point) => !hits.size || hits.has(point.i)).sort((one, other) => far(one) - far(other))) {
      const box = [px - room / 2, py - tall / 2, px + room / 2, py + tall / 2]
      if (taken.length < TITLES_MOST && isApart(box, taken.map((one) => one.box))) taken.push({ i, box })
    }
    wanted = taken.map(({ i }) => i)
    crowd = crowd.map(({ i }) => i)
    const unknown = wanted.filter((i) => !texts.has(i))
    if (unknown.length) map.callbacks.onTitles?.({ points: map.points.key, wanted })
    map.dirty()
  }

  // Chosen only where the view has come to rest, so that nothing is asked for on the way.
  function watch() {
    const { points, view, width, height, hidden, days, marks } = map
    const now = [points.key, view.x, view.y, view.scale, width, height, [...hidden], days, marks.shown, marks.hits].join()
    if (now === seen) return
    seen = now
    clearTimeout(resting)
    resting = map.later(choose, REST_MILLISECONDS)
  }

  /** Draw those that have room beside the boxes that are taken. */
  function draw(taken) {
    watch()
    shown = []
    if (map.camera.magnification() < TITLES_FROM) return
    const places = crowd.map(map.camera.where)
    for (const i of wanted) {
      if (!texts.has(i) || !map.isVisible(i)) continue
      const lines = texts.get(i), spot = spotOf(i, lines, taken, places)
      if (!spot) continue
      taken.push(spot.box)
      shown.push({ point: i, text: lines.join(' '), box: spot.box })
      lines.forEach((line, at) => map.overlay.write(line, spot.x, spot.y + (at - (lines.length - 1) / 2) * TITLE_HEIGHT, 11, 400, map.theme.text, 0.95, spot.align))
    }
  }

  /** Where a title covers neither text nor points, on the side of its point that it had if it can. Undefined for nowhere. */
  function spotOf(i, lines, taken, places) {
    const isBare = ([left, top, right, bottom]) => !places.some(([x, y]) => x > left && x < right && y > top && y < bottom)
    const free = spotsOf(i, lines).filter(({ box }) => map.labels.isFree(box, taken) && isBare(box))
    const found = free.find(({ side }) => side === sides.get(i)) ?? free[0]
    if (found) sides.set(i, found.side)
    return found
  }

  /** Right of its point, left of it, over it and under it. */
  function spotsOf(i, lines) {
    const [px, py] = map.camera.where(i), gap = map.camera.pointSize() / 2 + (hits.has(i) ? RING_ROOM : 4)
    const wide = Math.max(...lines.map((line) => map.overlay.measure(line, 11, 400))) + 2, tall = lines.length * TITLE_HEIGHT
    const around = (x, y) => [x, y - tall / 2, x + wide, y + tall / 2]
    const [over, under] = [py - gap - tall / 2, py + gap + tall / 2]
    return [
      { side: 0, x: px + gap, y: py, align: 'left', box: around(px + gap, py) },
      { side: 1, x: px - gap, y: py, align: 'right', box: around(px - gap - wide, py) },
      { side: 2, x: px, y: over, align: 'center', box: around(px - wide / 2, over) },
      { side: 3, x: px, y: under, align: 'center', box: around(px - wide / 2, under) },
    ]
  }

  function take(titles) {
    for (const [i, title] of titles) texts.set(i, linesOfTitle(title))
    map.dirty()
  }

  function forget() {
    texts.clear()
    sides.clear()
    wanted = []
    crowd = []
  }

  return { draw, take, forget, look: () => shown }
}
