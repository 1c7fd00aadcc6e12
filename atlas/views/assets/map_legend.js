// The legend: what the colours mean, in one row that opens to all of it. The mark of an entry shows or hides its points, with
// Shift it shows them alone. The name of a domain flies there and opens its panel; that of any other entry is as its mark.

const SHAPES = ['●', '✕', '◆'] // succeeded, failed, unknown

function mapLegend(map, legend) {
  let isOpen = false
  legend.setAttribute('role', 'group')

  function draw() {
    const { colours } = map, hasDomains = colours.entries.some((entry) => entry.label != null)
    const scrolled = legend.querySelector('.entries')?.scrollLeft ?? 0
    legend.setAttribute('aria-label', colours.heading)
    legend.classList.toggle('domains', hasDomains)
    const opener = makeButton(map, null, isOpen ? 'Fold the legend' : 'Show all of the legend', `${colours.heading} ${isOpen ? '▾' : '▴'}`, toggle)
    opener.className = 'title'
    opener.setAttribute('aria-expanded', String(isOpen))
    const list = make('div', 'entries', null)
    const marks = make('span', 'shapes', null)
    legend.replaceChildren(opener, list, marks)
    colours.legend.forEach((i) => drawEntry(list, i))
    list.scrollLeft = scrolled
    if (!colours.shapes && map.camera.pointSize() >= 5) marks.append('● succeeded  ✕ failed  ◆ unknown')
    if (hasDomains && colours.entries.some((entry) => entry.label == null)) marks.append('  · grey: no domain')
    if (hasDomains && colours.labels.some(({ weak }) => weak)) make('span', 'weak', marks, 'clearly below the average')
  }

  function toggle() {
    isOpen = !isOpen
    legend.classList.toggle('open', isOpen)
    draw()
    legend.querySelector('.title').focus()
    map.callbacks.onLegend?.({ height: isOpen ? legend.offsetHeight : 0 })
  }

  function drawEntry(list, i) {
    const entry = map.colours.entries[i], isDomain = entry.label != null
    const act = `${entry.name}: show or hide; with Shift, show it alone`, hide = (event) => filter(i, event.shiftKey)
    const chip = isDomain ? make('span', 'chip', list) : makeButton(map, list, act, '', hide)
    const mark = isDomain ? makeButton(map, chip, act, '', hide) : chip
    const swatch = make('span', 'swatch', mark, map.colours.shapes ? SHAPES[i] : '■')
    swatch.style.color = css(entryColour(map.theme, entry))
    const words = isDomain ? makeButton(map, chip, `${entry.name}: go there`, '', () => map.labels.open(map.colours.labels[entry.label].number)) : chip
    chip.classList.add('chip')
    make('span', 'name', words, entry.name)
    make('span', 'n', words, entry.n.toLocaleString('en'))
    if (entry.rate) make('span', 'rate', words, entry.rate)
    mark.setAttribute('aria-pressed', String(!map.hidden.has(i)))
    chip.classList.toggle('off', map.hidden.has(i))
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
