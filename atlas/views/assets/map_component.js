
// ---- as a Streamlit component --------------------------------------------------------------------------------------
//
// Streamlit sends a component all its data again whenever any of it changes, but nothing where nothing did. So the points
// are one component's data, and each of the layers that change is that of another (map_layer.js), which leaves it on a
// desk that they share: a search or a selection costs the bytes of a mask, not those of all points.
//
// Streamlit calls a component again whenever its data or the theme change. It keeps what the last call returned, and calls
// that when the page is left. Where a call is overtaken by the next one, it calls at once what the earlier one returned.
// So every call returns what takes the map away, and only that of the last one does.

const mounted = new WeakMap() // of each element its map, the last call, and what ends with them

// The map takes what the window has below the head of the page. All else floats over it, so that nothing which comes or
// goes changes its size, or what was just selected would move away under the hand.
const LEAST = 420
const hostOf = (parent) => parent.host ?? parent.getRootNode().host ?? parent
function holdHeight(parent, signal) {
  const host = hostOf(parent), page = document.documentElement
  const main = host.closest('[data-testid=stMain]'), column = host.closest('[data-testid=stColumn]')
  if (!main || !column) return
  const row = column.parentElement // held on to: a page that is left takes the column out of it before it takes the map away
  const hold = () => {
    if (!row.isConnected) return
    const top = row.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop
    const height = Math.max(LEAST, Math.floor(main.getBoundingClientRect().height - top))
    page.style.setProperty('--atlas-map-height', `${height}px`)
  }
  const watcher = new ResizeObserver(hold)
  watcher.observe(main)
  watcher.observe(row.parentElement)
  signal.addEventListener('abort', () => watcher.disconnect())
  hold()
}

// On a narrow window the panel stands below the map, where nobody would see that it has changed.
function showPanel(parent) {
  const column = hostOf(parent).closest('[data-testid=stColumn]'), panel = column?.nextElementSibling
  const isBelow = panel && panel.getBoundingClientRect().top >= column.getBoundingClientRect().bottom
  if (isBelow) panel.scrollIntoView({ behavior: isCalm() ? 'auto' : 'smooth' })
}

// Full screen is the whole page without its bars, so that dialogs and the panel beside the map are still there.
const page = document.documentElement
function full() {
  const isFull = page.classList.toggle('atlas-full')
  if (isFull) page.requestFullscreen?.().catch(() => {}) // refused where the page is framed: the bars are gone all the same
  else if (document.fullscreenElement) document.exitFullscreen()
}
const leaveFull = () => document.fullscreenElement || page.classList.remove('atlas-full')

function mount(parent, points, setTriggerValue, desk) {
  const ask = (name) => (value) => desk.layers.talk?.send(name, value)
  const map = mountMap(parent, { points }, {
    onSelect: (value) => setTriggerValue('selected', value),
    onOpen: (value) => (setTriggerValue('opened', value), showPanel(parent)),
    onHover: ask('hovered'),
    onTitles: ask('wanted'),
    onView: ask('viewed'),
    onFull: full,
    onLegend: ({ height }) => page.style.setProperty('--atlas-legend-height', `${height}px`),
    onDomain: (value) => (setTriggerValue('domain', value), showPanel(parent)),
    onAsk: (value) => setTriggerValue('asked', value),
  })
  if (!map) return null
  const life = new AbortController()
  document.addEventListener('fullscreenchange', leaveFull, { signal: life.signal })
  holdHeight(parent, life.signal)
  // What is drawn over the points can only be placed once they are there.
  const take = (name) => desk.layers[name]?.bytes && map.update({ [name]: unpack(desk.layers[name].bytes) })
  const held = { map, take, life }
  mounted.set(parent, held)
  desk.take = take
  globalThis.atlasMap = map
  return held
}

function leave(parent, { map, take, life }, desk) {
  mounted.delete(parent)
  life.abort()
  if (desk.take === take) desk.take = undefined
  if (globalThis.atlasMap === map) globalThis.atlasMap = undefined
  page.classList.remove('atlas-full')
  for (const name of ['--atlas-map-height', '--atlas-legend-height']) page.style.removeProperty(name)
  if (document.fullscreenElement) document.exitFullscreen()
  map.destroy()
}

export default function ({ data, parentElement, setTriggerValue }) {
  const desk = (globalThis.atlasMapDesk ??= { layers: {} }), points = unpack(data)
  let held = mounted.get(parentElement)
  const before = held?.map.look().key
  if (held) {
    held.map.retheme()
    held.map.update({ points })
  } else held = mount(parentElement, points, setTriggerValue, desk)
  if (!held) return setTriggerValue('unsupported', { webgl2: false })
  if (before !== points.key) for (const name of ['colours', 'marks', 'talk', 'pulse']) held.take(name)
  const call = (held.call = Symbol())
  return () => held.call === call && leave(parentElement, held, desk)
}
