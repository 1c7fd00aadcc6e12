
// ---- as a Streamlit component --------------------------------------------------------------------------------------
//
// Streamlit sends a component all its data again whenever any of it changes, but nothing where nothing did. So the points
// are one component's data, and each of the layers that change is that of another (map_layer.js), which leaves it on a
// desk that they share: a search or a selection costs the bytes of a mask, not those of all points.

const mounted = new WeakMap()

// The map takes what the window has below the place where its column begins.
const MARGIN = 16, LEAST = 420
function holdHeight(parent) {
  const host = parent.host ?? parent.getRootNode().host ?? parent
  const main = host.closest('[data-testid=stMain]'), column = host.closest('[data-testid=stColumn]')
  if (!main || !column) return
  const row = column.parentElement // held on to: a page that is left takes the column out of it before it takes the map away
  const hold = () => {
    if (!row.isConnected) return
    const header = document.documentElement.classList.contains('atlas-full') ? 0 : 60
    const top = row.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop
    const height = Math.max(LEAST, Math.round(main.clientHeight - Math.max(top, header) - MARGIN))
    host.style.setProperty('--atlas-map-height', `${height}px`)
  }
  const watcher = new ResizeObserver(hold)
  watcher.observe(main)
  watcher.observe(row)
  leaving.set(parent, () => watcher.disconnect())
  hold()
}
const leaving = new WeakMap()

// Full screen is the whole page without its bars, so that dialogs and the panel beside the map are still there.
const page = document.documentElement
function full() {
  const isFull = page.classList.toggle('atlas-full')
  if (isFull) page.requestFullscreen?.().catch(() => {}) // refused where the page is framed: the bars are gone all the same
  else if (document.fullscreenElement) document.exitFullscreen()
}
const leaveFull = () => document.fullscreenElement || page.classList.remove('atlas-full')
document.addEventListener('fullscreenchange', leaveFull)

export default function ({ data, parentElement, setTriggerValue }) {
  const desk = (globalThis.atlasMapDesk ??= { layers: {} })
  const points = unpack(data)
  let map = mounted.get(parentElement)
  if (map) {
    map.retheme() // a change of theme comes as a call with the same data
    if (map.look().key === points.key) return
    map.update({ points })
  } else {
    const ask = (name) => (value) => desk.layers.talk?.send(name, value)
    map = mountMap(parentElement, { points }, {
      onSelect: (value) => setTriggerValue('selected', value),
      onOpen: (value) => setTriggerValue('opened', value),
      onHover: ask('hovered'),
      onView: ask('viewed'),
      onFull: full,
      onAsk: (value) => setTriggerValue('asked', value),
    })
    if (!map) {
      setTriggerValue('unsupported', { webgl2: false })
      return
    }
    mounted.set(parentElement, map)
    holdHeight(parentElement)
    globalThis.atlasMap = map
  }
  // What is drawn over the points can only be placed once they are there.
  desk.take = (name) => desk.layers[name]?.bytes && map.update({ [name]: unpack(desk.layers[name].bytes) })
  for (const name of ['colours', 'marks', 'talk', 'pulse']) desk.take(name)
  return () => {
    desk.take = undefined
    mounted.delete(parentElement)
    leaving.get(parentElement)?.()
    page.classList.remove('atlas-full')
    if (document.fullscreenElement) document.exitFullscreen()
    map.destroy()
  }
}
