// A component without a face: leaves its bytes on the desk of the map (map_component.js), and speaks for it.
export default function ({ name, data, setTriggerValue }) {
  const desk = (globalThis.atlasMapDesk ??= { layers: {} })
  const layer = name.split('_').pop(), left = { bytes: data, send: setTriggerValue }
  desk.layers[layer] = left
  desk.take?.(layer)
  return () => desk.layers[layer] === left && delete desk.layers[layer] // a later call's stays
}
