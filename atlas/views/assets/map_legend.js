// The legend: what the colours mean, in one row that opens to all of it. The mark of an entry shows or hides its points, with
// Shift it shows them alone. The name of a domain flies there and opens its panel; that of any other entry is as its mark.

const SHAPES = ['●', '✕', '◆'], OUTCOMES = ['succeeded', 'failed', 'unknown']

function mapLegend(map, legend) {
  let isOpen = false
  legend.setAttribute('role', 'group')

  function draw() {
    const { colours } = map, hasDomains = colours.entries.some((entry) => entry.label != null)
    const isPlain = colours.domains && !hasDomains // the names on the map say all that a list would
    const scrolled = legend.querySelector('.entries')?.scrollLeft ?? 0
    legend.setAttribute('aria-label', colours.heading)
    legend.classList.toggle('domains', hasDomains)
    legend.classList.toggle('plain', isPlain)
    if (isPlain) return legend.replaceChildren(makeKey(isPlain))
    const opener = makeButton(map, null, isOpen ? 'Fold the legend' : 'Show all of the legend', `${colours.heading} ${isOpen ? '▾' : '▴'}`, toggle)
    opener.className = 'title'
    opener.setAttribute('aria-expanded', String(isOpen))
    const list = make('div', 'entries', null)
    legend.replaceChildren(opener, list, makeKey(isPlain))
    colours.legend.forEach((i) => drawEntry(list, i))
    list.scrollLeft = scrolled
  }

  /** What the shapes of points and the areas mean, of those that are on the map. */
  function makeKey(isPlain) {
    const { colours, points } = map, key = make('span', 'shapes', null)
    if (!colours.shapes && map.camera.pointSize() >= 5) OUTCOMES.forEach((name, i) => points.outcome.includes(i) && addSign(key, SHAPES[i], name))
    if (colours.entries.some(({ hollow }) => hollow)) addSign(key, '○ ×', 'in no domain').classList.add('thin')
    const { outlined, weak } = map.areas.kinds()
    if (outlined) make('span', 'area', key, 'domain')
    if (weak) make('span', 'area weak', key, 'clearly below average')
    else if (isPlain && colours.labels.some((label) => label.weak)) addSign(key, '●', 'clearly below average').classList.add('red')
    return key
  }

  function addSign(key, sign, words) {
    const item = make('span', '', key)
    make('b', '', item, sign)
    item.append(words)
    return item
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
    const swatch = make('span', 'swatch', mark, map.colours.shapes ? SHAPES[i] : entry.hollow ? '○' : '■')
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
