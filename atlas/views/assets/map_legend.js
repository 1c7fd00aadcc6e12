// The legend: what the colours mean. An entry shows or hides its points; with Shift it shows them alone.

const SHAPES = ['●', '✕', '◆'] // succeeded, failed, unknown

function mapLegend(map, legend) {
  legend.setAttribute('role', 'group')

  function draw() {
    const { colours } = map
    legend.setAttribute('aria-label', colours.heading)
    legend.replaceChildren(make('span', 'title', null, colours.heading))
    colours.legend.forEach(drawEntry)
    if (!colours.shapes && map.camera.pointSize() >= 5) make('span', 'shapes', legend, '● succeeded  ✕ failed  ◆ unknown')
  }

  function drawEntry(i) {
    const entry = map.colours.entries[i]
    const chip = makeButton(map, legend, `${entry.name}: show or hide; with Shift, show it alone`, '', (event) => filter(i, event.shiftKey))
    const swatch = make('span', 'swatch', chip, map.colours.shapes ? SHAPES[i] : '■')
    swatch.style.color = css(entryColour(map.theme, entry))
    make('span', 'name', chip, entry.name)
    make('span', 'n', chip, entry.n.toLocaleString('en'))
    if (entry.rate) make('span', 'rate', chip, entry.rate)
    chip.setAttribute('aria-pressed', String(!map.hidden.has(i)))
  }

  function filter(i, isAlone) {
    const { hidden } = map, others = map.colours.entries.map((_, other) => other).filter((other) => other !== i)
    const wasAlone = !hidden.has(i) && others.every((other) => hidden.has(other))
    if (isAlone) map.hidden = new Set(wasAlone ? [] : others)
    else hidden.has(i) ? hidden.delete(i) : hidden.add(i)
    draw()
    map.changed()
  }

  const hiddenNames = () => [...map.hidden].map((i) => map.colours.entries[i]?.name)
  function hideNames(names) {
    const held = new Set(names)
    map.hidden = new Set(map.colours.entries.flatMap(({ name }, i) => (held.has(name) ? [i] : [])))
  }

  return { draw, hiddenNames, hideNames }
}
