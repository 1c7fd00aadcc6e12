
// ---- as a Streamlit component --------------------------------------------------------------------------------------
//
// Streamlit sends a component all its data again whenever any of it changes, but nothing where nothing did. So the points
// are one component's data, and each of the layers that change is that of another (map_layer.js), which leaves it on a
// desk that they share: a search or a selection costs the bytes of a mask, not those of all points.

const mounted = new WeakMap()

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
    })
    if (!map) {
      setTriggerValue('unsupported', { webgl2: false })
      return
    }
    mounted.set(parentElement, map)
    globalThis.atlasMap = map
  }
  // What is drawn over the points can only be placed once they are there.
  desk.take = (name) => desk.layers[name]?.bytes && map.update({ [name]: unpack(desk.layers[name].bytes) })
  for (const name of ['colours', 'marks', 'talk']) desk.take(name)
  return () => {
    desk.take = undefined
    mounted.delete(parentElement)
    map.destroy()
  }
}
