// The names of the domains on the map. They never cover one another, nor the tools.

const LABEL_CHARACTERS = 40
const FORMED = 4 // members from which a domain is named while the memory grows

const isApart = (box, taken) =>
  !taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])
const isWithin = ([left, top, right, bottom], { width, height }) => left >= 0 && top >= 0 && right <= width && bottom <= height

function mapLabels(map) {
  const isFree = (box, taken) => isWithin(box, map) && isApart(box, taken)

  function discOf({ x, y, radius }) {
    const [px, py] = map.camera.toScreen(x, y), reach = radius * map.view.scale
    return [px - reach, py - reach, px + reach, py + reach]
  }

  // Larger domains first. A label stands over, under or beside its domain, where it covers no other one; else on its own
  // domain, if no label is there. It is paler where its domain is but a speck, but never too pale to read.
  /** Draw them, and return the boxes that are taken then. */
  function draw() {
    const taken = [...map.covered], labels = labelsNow(), discs = labels.map(discOf)
    labels.forEach((label, own) => {
      const [px, py] = map.camera.toScreen(label.x, label.y)
      if (px < 0 || py < 0 || px > map.width || py > map.height) return
      const others = [...taken, ...discs.filter((_, other) => other !== own)]
      const box = place(label, px, py, others, taken)
      if (box) taken.push(box)
    })
    return taken
  }

  /** Draw one, and return its box. Null where there is no room. */
  function place({ radius, name, note, colour }, px, py, others, taken) {
    const reach = radius * map.view.scale, alpha = Math.min(1, Math.max(0.72, reach / 4)), { theme, overlay } = map
    const text = name.length > LABEL_CHARACTERS ? `${name.slice(0, LABEL_CHARACTERS - 1)}…` : name
    const half = Math.max(overlay.measure(text, 12, 600), note.length * 5.4) / 2 + 4
    const far = Math.min(reach * 1.5, 90) + 18, aside = far + half - 12
    const around = [[px, py - far], [px, py + far], [px + aside, py], [px - aside, py]]
    const box = ([left, top]) => [left - half, top - 16, left + half, top + 16]
    const found = around.find((spot) => isFree(box(spot), others)) ?? [[px, py]].find((spot) => isFree(box(spot), taken))
    if (!found) return null
    const [left, top] = found
    const rgb = colour == null ? theme.text : mix(entryColour(theme, { colour }), theme.text, 0.45)
    overlay.write(text, left, top - (note ? 7 : 0), 12, 600, rgb, alpha)
    if (note) overlay.write(note, left, top + 8, 10.5, 400, theme.text, alpha * 0.85)
    return box(found)
  }

  // While the memory grows, a domain's label stands there once enough of it does, with its rate by then.
  function labelsNow() {
    const { points, colours, days } = map
    if (!map.replay.isPlaying() || !colours.label_of) return colours.labels
    const counts = colours.labels.map(() => ({ n: 0, known: 0, succeeded: 0 }))
    for (let i = 0; i < points.n; i++) {
      const count = counts[colours.label_of[i]]
      if (!count || points.day[i] > days[1]) continue
      count.n++
      count.known += points.outcome[i] < 2 ? 1 : 0
      count.succeeded += points.outcome[i] === 0 ? 1 : 0
    }
    return colours.labels.flatMap((label, i) => {
      const { n, known, succeeded } = counts[i]
      return n >= FORMED ? [{ ...label, note: known ? percentOf(succeeded, known) : '' }] : []
    })
  }

  return { draw, isFree }
}
