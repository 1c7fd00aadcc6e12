// The points of the map, drawn by WebGL2. Knows nothing of Streamlit, mice or legends: see map.js for those.

const VERTEX = `#version 300 es
layout(location=0) in vec2 xy;
layout(location=1) in float outcome;
layout(location=2) in float day;
layout(location=3) in float category;
layout(location=4) in float flags;
uniform vec2 centre, perPixel;
uniform float size, ratio;
uniform int part;          // 0 what is left out, 1 the rest, 2 what failed, 3 what is chosen, which lies over all
uniform bool someChosen, someHit;
uniform vec2 days;
uniform vec4 palette[64];
uniform vec4 faint, ring;
uniform vec4 bold;         // what the colours of failures are mixed with, and how much of it
out vec4 colour;
out vec4 edge;
out float thickness;
flat out int shape;
flat out int hollow;
void main() {
  int bits = int(flags + .5);
  vec4 own = palette[int(category + .5)];
  hollow = own.a > 1. && size > 4.5 ? 1 : 0;
  if (own.a > 1.) own.a -= 2.;
  bool out_ = (bits & 1) == 0 || own.a == 0. || day < days.x || day > days.y;
  bool chosen = !out_ && (bits & 2) != 0;
  bool failed = !out_ && int(outcome + .5) == 1;
  int mine = out_ ? 0 : chosen ? 3 : failed ? 2 : 1;
  shape = size * ratio < 5. ? 0 : int(outcome + .5);
  float grown = chosen || failed ? size + 2. : out_ ? max(size * .7, 1.5) : size;
  colour = out_ ? faint : hollow == 1 ? own : failed ? vec4(mix(own.rgb, bold.rgb, bold.a), own.a) : vec4(own.rgb, own.a * (1. - .5 * bold.a));
  if ((someChosen || someHit) && !chosen && (bits & 4) == 0) colour.a *= someHit ? .16 : .3;
  edge = chosen && size > 4.5 ? ring : vec4(colour.rgb, 0.); // a small point would be all rim
  gl_PointSize = grown * ratio;
  thickness = 2. / max(gl_PointSize, 1.);
  gl_Position = mine == part ? vec4((xy - centre) * perPixel, 0., 1.) : vec4(2., 2., 2., 1.);
}`

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
in vec4 edge;
in float thickness;
flat in int shape;
flat in int hollow;
out vec4 pixel;
void main() {
  vec2 p = abs(gl_PointCoord * 2. - 1.);
  float d = shape == 1 ? max(abs(p.x - p.y) * (hollow == 1 ? 3.4 : 1.6) + .42, max(p.x, p.y)) : shape == 2 ? (p.x + p.y) : length(p);
  float inside = 1. - smoothstep(1. - thickness, 1., d);
  if (hollow == 1 && shape != 1) inside *= smoothstep(1. - 2.6 * thickness, 1. - 1.6 * thickness, d);
  if (inside <= 0.) discard;
  vec4 mixed = mix(colour, edge, edge.a * smoothstep(1. - 1.7 * thickness, 1. - 1.2 * thickness, d));
  float alpha = mixed.a * inside;
  pixel = vec4(mixed.rgb * alpha, alpha);
}`

const ATTRIBUTES = { xy: [0, 2], outcome: [1, 1], day: [2, 1], category: [3, 1], flags: [4, 1] }

/** Draws points on a canvas; null where the browser has no WebGL2. */
function pointRenderer(canvas) {
  const gl = canvas.getContext('webgl2', { antialias: false, alpha: true, premultipliedAlpha: true })
  if (!gl) return null
  let program, places, buffers, n = 0
  const given = {} // kept so that a lost context can be filled again

  function begin() {
    program = gl.createProgram()
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind)
      gl.shaderSource(shader, source)
      gl.compileShader(shader)
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw Error(gl.getShaderInfoLog(shader))
      gl.attachShader(program, shader)
    }
    gl.linkProgram(program)
    gl.useProgram(program)
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
    places = new Proxy({}, { get: (known, name) => (known[name] ??= gl.getUniformLocation(program, name)) })
    buffers = {}
    for (const name in given) fill(name, given[name])
  }

  function fill(name, values) {
    given[name] = values
    if (name === 'xy') n = values.length / 2
    const [place, width] = ATTRIBUTES[name]
    const kind = values instanceof Float32Array ? gl.FLOAT : values instanceof Uint16Array ? gl.UNSIGNED_SHORT : gl.UNSIGNED_BYTE
    gl.bindBuffer(gl.ARRAY_BUFFER, (buffers[name] ??= gl.createBuffer()))
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW)
    gl.enableVertexAttribArray(place)
    gl.vertexAttribPointer(place, width, kind, false, 0, 0)
  }

  function draw({ view, stretch, width, height, ratio, size, days, palette, faint, ring, bold, someOut, someChosen, someHit }) {
    if (gl.isContextLost()) return
    gl.viewport(0, 0, canvas.width, canvas.height)
    gl.clearColor(0, 0, 0, 0)
    gl.clear(gl.COLOR_BUFFER_BIT)
    if (!n || !given.category) return
    gl.uniform2f(places.centre, view.x, view.y)
    gl.uniform2f(places.perPixel, (2 * view.scale) / width, (2 * view.scale * stretch) / height)
    gl.uniform1f(places.size, size)
    gl.uniform1f(places.ratio, ratio)
    gl.uniform2f(places.days, days[0] - 0.5, days[1] + 0.5)
    gl.uniform4fv(places['palette'], palette)
    gl.uniform4fv(places.faint, faint)
    gl.uniform4fv(places.ring, ring)
    gl.uniform4fv(places.bold, bold)
    gl.uniform1i(places.someChosen, someChosen ? 1 : 0)
    gl.uniform1i(places.someHit, someHit ? 1 : 0)
    for (const part of [...(someOut ? [0] : []), 1, 2, ...(someChosen ? [3] : [])]) {
      gl.uniform1i(places.part, part)
      gl.drawArrays(gl.POINTS, 0, n)
    }
  }

  canvas.addEventListener('webglcontextlost', (event) => event.preventDefault())
  canvas.addEventListener('webglcontextrestored', begin)
  begin()
  return { fill, draw, free: () => gl.getExtension('WEBGL_lose_context')?.loseContext() }
}
