// What the parts of the map share: layers and masks as they come over the wire, and elements.

/** A layer from its bytes: length of the JSON as uint32, the JSON, and the arrays that it lists. */
function unpack(bytes) {
  const whole = bytes.slice().buffer // copied, because arrays of floats must begin at a multiple of four
  const length = new DataView(whole).getUint32(0, true)
  const { arrays, ...layer } = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, length)))
  const kinds = { f4: Float32Array, u2: Uint16Array, u1: Uint8Array }
  for (const [name, kind, start, n] of arrays) layer[name] = new kinds[kind](whole, start, n)
  return layer
}

const bit = (mask, i) => (mask[i >> 3] >> (i & 7)) & 1
const toMask = (text) => text && Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
function fromMask(mask) {
  let text = ''
  for (let i = 0; i < mask.length; i += 8192) text += String.fromCharCode(...mask.subarray(i, i + 8192))
  return btoa(text)
}

const isCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches

/** A new element. Its text is untrusted, and is only ever set as textContent. */
function make(tag, name, parent, text = '') {
  const made = document.createElement(tag)
  made.className = name
  made.textContent = text
  parent?.append(made)
  return made
}

function makeButton(map, parent, name, sign, act) {
  const made = make('button', '', parent, sign)
  made.type = 'button'
  made.title = name
  made.setAttribute('aria-label', name)
  map.on(made, 'click', act)
  return made
}

/** The place of an element on the stage, with some room about it. */
const boxOf = ({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) => [offsetLeft - 4, offsetTop - 4, offsetLeft + offsetWidth + 4, offsetTop + offsetHeight + 4]

const percentOf = (part, n) => `${Math.round(100 * (part / n))}% of ${n.toLocaleString('en')} succeeded`
