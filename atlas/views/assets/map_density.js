// How densely points lie: lines of equal density, in the map's own coordinates. Knows nothing of the screen.

const CELLS = 96
const LEVELS = [0.08, 0.2, 0.4, 0.65] // shares of the greatest density
const BLUR = 2.2 // cells, standard deviation

/** A Path2D for each level, of the points that `isVisible`. */
function densityLines(xy, isVisible) {
  const grid = densityGrid(xy, isVisible)
  if (!grid) return []
  const most = grid.values.reduce((one, other) => Math.max(one, other), 0)
  return LEVELS.map((level) => contourAt(grid, level * most))
}

function densityGrid(xy, isVisible) {
  const seen = [], low = [Infinity, Infinity], high = [-Infinity, -Infinity]
  for (let i = 0; i < xy.length / 2; i++) {
    if (!isVisible(i)) continue
    seen.push(i)
    for (const axis of [0, 1]) {
      low[axis] = Math.min(low[axis], xy[2 * i + axis])
      high[axis] = Math.max(high[axis], xy[2 * i + axis])
    }
  }
  if (!seen.length) return null
  const cell = (Math.max(high[0] - low[0], high[1] - low[1], 1e-3) * 1.2) / CELLS
  const left = (low[0] + high[0] - cell * CELLS) / 2, bottom = (low[1] + high[1] - cell * CELLS) / 2
  const counts = new Float32Array(CELLS * CELLS)
  for (const i of seen) counts[Math.floor((xy[2 * i + 1] - bottom) / cell) * CELLS + Math.floor((xy[2 * i] - left) / cell)]++
  return { values: blurred(blurred(counts, 1), CELLS), cell, left, bottom }
}

/** A Gaussian along one axis, whose neighbours are `step` apart. */
function blurred(values, step) {
  const reach = Math.ceil(3 * BLUR), found = new Float32Array(values.length)
  const weights = Array.from({ length: 2 * reach + 1 }, (_, i) => Math.exp(-((i - reach) ** 2) / (2 * BLUR ** 2)))
  for (let at = 0; at < values.length; at++) {
    const along = step === 1 ? at % CELLS : Math.floor(at / CELLS)
    if (!values[at]) continue
    for (let by = Math.max(-reach, -along); by <= Math.min(reach, CELLS - 1 - along); by++) found[at + by * step] += values[at] * weights[by + reach]
  }
  return found
}

/** Marching squares: where the density passes a level, cell by cell. */
function contourAt({ values, cell, left, bottom }, level) {
  const lines = new Path2D()
  const point = (column, row) => [left + (column + 0.5) * cell, bottom + (row + 0.5) * cell]
  for (let row = 0; row < CELLS - 1; row++)
    for (let column = 0; column < CELLS - 1; column++) {
      const corners = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([dx, dy]) => [column + dx, row + dy, values[(row + dy) * CELLS + column + dx]])
      const crossings = corners.flatMap(([ax, ay, a], i) => {
        const [bx, by, b] = corners[(i + 1) % 4]
        const share = (level - a) / (b - a)
        return a < level === b < level ? [] : [point(ax + (bx - ax) * share, ay + (by - ay) * share)]
      })
      for (let i = 0; i + 1 < crossings.length; i += 2) lines.moveTo(...crossings[i]), lines.lineTo(...crossings[i + 1])
    }
  return lines
}
