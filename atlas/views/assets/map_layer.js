// A component without a face: leaves its bytes on the desk of the map (map_component.js), and speaks for it.
export default function ({ name, data, setTriggerValue }) {
  const desk = (globalThis.atlasMapDesk ??= { layers: {} })
  const layer = name.split('_').pop()
  desk.layers[layer] = { bytes: data, send: setTriggerValue }
  desk.take?.(layer)
  return () => delete desk.layers[layer]
}
