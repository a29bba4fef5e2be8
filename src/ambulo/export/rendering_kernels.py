"""Compiled parts of the software renderer: tapered capsules by exact ray casting, and the ground with its shadows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ambulo.maths.kernels import kernel

Float = NDArray[np.floating]

# Direction to the light.
_LX, _LY, _LZ = 0.36, 0.84, 0.41


@kernel
def _sphere(ox: float, oy: float, oz: float, dx: float, dy: float, dz: float, radius: float) -> float:
    """Distance along a unit ray to a sphere at the origin of (ox, oy, oz); infinity where it misses."""
    b = ox * dx + oy * dy + oz * dz
    c = ox * ox + oy * oy + oz * oz - radius * radius
    h = b * b - c
    if h < 0.0:
        return math.inf
    return -b - math.sqrt(h)


@kernel
def draw_capsules(
    capsules: Float,
    colours: Float,
    flat: NDArray[np.bool_],
    eye: Float,
    axes: Float,
    tangent: float,
    ground: float,
    depth: Float,
    image: Float,
) -> None:
    """Draw the convex hulls of sphere pairs into ``image`` where they are nearer than ``depth``.

    A point at ``x`` along the axis and ``y`` off it lies on the hull's side where ``c y = ra - k x``, with
    ``k = (ra - rb) / length`` and ``c = sqrt(1 - k^2)``; along a ray that is a quadratic. The hull's entry is the
    nearest of the side's hits and both spheres' hits, for all of them lie in the hull.

    capsules [K, 8], colours [K, 3], flat [K] bool (no shading), eye [3], axes [3, 3] (right, up, forward rows),
    tangent: half the picture's height at distance 1, depth [H, W], image [H, W, 3].
    """
    height, width = depth.shape
    scale = 2.0 * tangent / height
    focal = 1.0 / scale
    for n in range(capsules.shape[0]):
        ra, rb = capsules[n, 3], capsules[n, 7]
        x0, x1, y0, y1 = math.inf, -math.inf, math.inf, -math.inf
        behind = False
        for end in range(2):
            px = capsules[n, 4 * end] - eye[0]
            py = capsules[n, 4 * end + 1] - eye[1]
            pz = capsules[n, 4 * end + 2] - eye[2]
            r = capsules[n, 4 * end + 3]
            cz = px * axes[2, 0] + py * axes[2, 1] + pz * axes[2, 2]
            if cz - r < 0.05:
                behind = True
                break
            cx = px * axes[0, 0] + py * axes[0, 1] + pz * axes[0, 2]
            cy = px * axes[1, 0] + py * axes[1, 1] + pz * axes[1, 2]
            # Off axis a sphere's picture is an ellipse, longer than r / z; the nearer depth bounds it.
            for sx in (-1.0, 1.0):
                for near in (cz - r, cz + r):
                    x = 0.5 * width + focal * (cx + sx * r) / near
                    y = 0.5 * height - focal * (cy + sx * r) / near
                    x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
        if behind:
            continue
        left, right = max(int(x0) - 1, 0), min(int(x1) + 2, width)
        top, bottom = max(int(y0) - 1, 0), min(int(y1) + 2, height)
        ax, ay, az = capsules[n, 0], capsules[n, 1], capsules[n, 2]
        ux, uy, uz = capsules[n, 4] - ax, capsules[n, 5] - ay, capsules[n, 6] - az
        length = math.sqrt(ux * ux + uy * uy + uz * uz)
        # One sphere inside the other (or no length): the larger sphere is the hull.
        only = length <= abs(ra - rb) + 1e-9
        k, c = 0.0, 1.0
        if only:
            if rb > ra:
                ax, ay, az, ra = capsules[n, 4], capsules[n, 5], capsules[n, 6], rb
        else:
            ux, uy, uz = ux / length, uy / length, uz / length
            k = (ra - rb) / length
            c = math.sqrt(1.0 - k * k)
        ox, oy, oz = eye[0] - ax, eye[1] - ay, eye[2] - az
        oo = ox * ox + oy * oy + oz * oz
        ou = ox * ux + oy * uy + oz * uz
        for row in range(top, bottom):
            sy = (0.5 * height - row - 0.5) * scale
            for column in range(left, right):
                sx = (column + 0.5 - 0.5 * width) * scale
                dx = axes[2, 0] + sx * axes[0, 0] + sy * axes[1, 0]
                dy = axes[2, 1] + sx * axes[0, 1] + sy * axes[1, 1]
                dz = axes[2, 2] + sx * axes[0, 2] + sy * axes[1, 2]
                inv = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz)
                dx, dy, dz = dx * inv, dy * inv, dz * inv
                t = _sphere(ox, oy, oz, dx, dy, dz, ra)
                foot = 0.0
                radius = ra
                if not only:
                    t2 = _sphere(ox - length * ux, oy - length * uy, oz - length * uz, dx, dy, dz, rb)
                    if t2 < t:
                        t, foot, radius = t2, length, rb
                    du = dx * ux + dy * uy + dz * uz
                    od = ox * dx + oy * dy + oz * dz
                    e = ra - k * ou
                    c2 = c * c
                    qa = c2 * (1.0 - du * du) - k * k * du * du
                    qb = c2 * (od - ou * du) + k * du * e
                    qc = c2 * (oo - ou * ou) - e * e
                    h = qb * qb - qa * qc
                    if h >= 0.0 and abs(qa) > 1e-12:
                        root = math.sqrt(h)
                        for sign in (-1.0, 1.0):
                            ts = (-qb + sign * root) / qa
                            if 0.0 < ts < t:
                                along = ou + ts * du
                                r = (ra - k * along) / (c2)
                                # r is the radius of the sphere that touches here; its centre lies r k before `along`.
                                centre = along - r * k
                                if r > 0.0 and 0.0 <= centre <= length:
                                    t, foot, radius = ts, centre, r
                if t == math.inf or t < 0.05:
                    continue
                z = t * (dx * axes[2, 0] + dy * axes[2, 1] + dz * axes[2, 2])
                if z >= depth[row, column]:
                    continue
                depth[row, column] = z
                if flat[n]:
                    image[row, column, 0] = colours[n, 0]
                    image[row, column, 1] = colours[n, 1]
                    image[row, column, 2] = colours[n, 2]
                    continue
                nx = (ox + t * dx - foot * ux) / radius
                ny = (oy + t * dy - foot * uy) / radius
                nz = (oz + t * dz - foot * uz) / radius
                facing = max(-(nx * dx + ny * dy + nz * dz), 0.0)
                key = max(nx * _LX + ny * _LY + nz * _LZ, 0.0)
                sky = 0.5 + 0.5 * ny
                # Light bounced by the ground is lost close to it: feet read as standing, not floating.
                above = min(max((eye[1] + t * dy - ground) / 0.30, 0.0), 1.0)
                ambient = (0.34 + 0.26 * sky) * (0.72 + 0.28 * above)
                # A weak light at the camera keeps the side away from the key light readable.
                light = (ambient + 0.50 * key + 0.14 * facing) * (0.64 + 0.36 * math.sqrt(facing))
                gloss = 0.07 * key**24
                image[row, column, 0] = min(colours[n, 0] * light * 1.02 + gloss, 1.0)
                image[row, column, 1] = min(colours[n, 1] * light + gloss, 1.0)
                image[row, column, 2] = min(colours[n, 2] * light * 0.99 + gloss, 1.0)


@kernel
def _segment_distance(px: float, pz: float, ax: float, az: float, bx: float, bz: float) -> tuple[float, float]:
    """Distance from a point to a segment on the ground, and where along it (0 to 1)."""
    ux, uz = bx - ax, bz - az
    square = ux * ux + uz * uz
    u = 0.0
    if square > 1e-12:
        u = min(max(((px - ax) * ux + (pz - az) * uz) / square, 0.0), 1.0)
    dx, dz = px - ax - u * ux, pz - az - u * uz
    return math.sqrt(dx * dx + dz * dz), u


@kernel
def _line_cover(value: float, spacing: float, half: float, footprint: float) -> float:
    """How much of a pixel a grid line covers, 0 to 1."""
    off = abs(value / spacing - math.floor(value / spacing + 0.5)) * spacing
    wide = half + footprint
    return min(max((wide - off) / (2.0 * footprint + 1e-9), 0.0), 1.0) * min(half / (footprint + 1e-9), 1.0)


@kernel
def draw_ground(
    capsules: Float, casts: NDArray[np.bool_], eye: Float, axes: Float, tangent: float, ground: float, image: Float
) -> None:
    """Fill a picture with sky, a ground with a line every metre, and the shadows of the capsules that cast one.

    Each capsule's shadow is its projection along the light (soft with height) and, close to the ground, straight down,
    so that a planted foot has a dark edge and a lifted one has not.

    capsules [K, 8], casts [K] bool, image [H, W, 3] out.
    """
    height, width = image.shape[:2]
    scale = 2.0 * tangent / height
    count = capsules.shape[0]
    low_x, high_x, low_z, high_z = math.inf, -math.inf, math.inf, -math.inf
    spots = np.empty((count, 2, 3))
    boxes = np.empty((count, 4))
    for n in range(count):
        boxes[n, 0] = boxes[n, 2] = math.inf
        boxes[n, 1] = boxes[n, 3] = -math.inf
        if not casts[n]:
            continue
        for end in range(2):
            h = max(capsules[n, 4 * end + 1] - ground, 0.0)
            x = capsules[n, 4 * end] - _LX / _LY * h
            z = capsules[n, 4 * end + 2] - _LZ / _LY * h
            spots[n, end, 0], spots[n, end, 1], spots[n, end, 2] = x, z, h
            reach = capsules[n, 4 * end + 3] * 1.5 + 0.05 + 0.16 * h
            for qx, qz in ((x, z), (capsules[n, 4 * end], capsules[n, 4 * end + 2])):
                boxes[n, 0], boxes[n, 1] = min(boxes[n, 0], qx - reach), max(boxes[n, 1], qx + reach)
                boxes[n, 2], boxes[n, 3] = min(boxes[n, 2], qz - reach), max(boxes[n, 3], qz + reach)
        low_x, high_x = min(low_x, boxes[n, 0]), max(high_x, boxes[n, 1])
        low_z, high_z = min(low_z, boxes[n, 2]), max(high_z, boxes[n, 3])
    for row in range(height):
        sy = (0.5 * height - row - 0.5) * scale
        up = row / height
        sky_r, sky_g, sky_b = 0.955 - 0.05 * up, 0.962 - 0.045 * up, 0.972 - 0.035 * up
        for column in range(width):
            sx = (column + 0.5 - 0.5 * width) * scale
            dx = axes[2, 0] + sx * axes[0, 0] + sy * axes[1, 0]
            dy = axes[2, 1] + sx * axes[0, 1] + sy * axes[1, 1]
            dz = axes[2, 2] + sx * axes[0, 2] + sy * axes[1, 2]
            image[row, column, 0] = sky_r
            image[row, column, 1] = sky_g
            image[row, column, 2] = sky_b
            t = (ground - eye[1]) / dy if abs(dy) > 1e-9 else -1.0
            if t <= 0.0:
                continue
            px, pz = eye[0] + t * dx, eye[2] + t * dz
            # A pixel's size on the ground, across and along the line of sight.
            across = t * scale
            along = across / max(abs(dy), 0.02)
            flat = math.sqrt(dx * dx + dz * dz) + 1e-9
            fx = 0.5 * (across * abs(dz) + along * abs(dx)) / flat
            fz = 0.5 * (across * abs(dx) + along * abs(dz)) / flat
            line = max(_line_cover(px, 1.0, 0.008, fx), _line_cover(pz, 1.0, 0.008, fz))
            fine = max(_line_cover(px, 0.25, 0.0035, fx), _line_cover(pz, 0.25, 0.0035, fz))
            shade = 0.0
            if low_x < px < high_x and low_z < pz < high_z:
                for n in range(count):
                    if px < boxes[n, 0] or px > boxes[n, 1] or pz < boxes[n, 2] or pz > boxes[n, 3]:
                        continue
                    d, u = _segment_distance(px, pz, spots[n, 0, 0], spots[n, 0, 1], spots[n, 1, 0], spots[n, 1, 1])
                    h = spots[n, 0, 2] + u * (spots[n, 1, 2] - spots[n, 0, 2])
                    r = capsules[n, 3] + u * (capsules[n, 7] - capsules[n, 3])
                    soft = 0.012 + 0.075 * h
                    s = min(max((r + soft - d) / (2.0 * soft), 0.0), 1.0)
                    shade = max(shade, s * s * (3.0 - 2.0 * s) * 0.30 / (1.0 + 0.45 * h))
                    d, u = _segment_distance(px, pz, capsules[n, 0], capsules[n, 2], capsules[n, 4], capsules[n, 6])
                    r = capsules[n, 3] + u * (capsules[n, 7] - capsules[n, 3])
                    h = max(capsules[n, 1] + u * (capsules[n, 5] - capsules[n, 1]) - ground - r, 0.0)
                    if h < 0.20:
                        s = min(max(1.0 - (d - 0.5 * r) / (0.9 * r + 0.03), 0.0), 1.0)
                        shade = max(shade, s * s * 0.58 * math.exp(-h / 0.03))
            ink = (1.0 - 0.20 * line) * (1.0 - 0.07 * fine) * (1.0 - shade)
            fade = min(max((t * flat - 9.0) / 25.0, 0.0), 1.0)
            image[row, column, 0] = (0.885 * ink) * (1.0 - fade) + sky_r * fade
            image[row, column, 1] = (0.888 * ink) * (1.0 - fade) + sky_g * fade
            image[row, column, 2] = (0.895 * ink) * (1.0 - fade) + sky_b * fade


@kernel
def compose(image: Float, figure: Float, depth: Float, pixels: NDArray[np.uint8]) -> None:
    """Lay the figure, drawn at twice the resolution, over the ground and round to bytes.

    image [H, W, 3], figure [2H, 2W, 3], depth [2H, 2W] (infinite where nothing was drawn), pixels uint8 [H, W, 3].
    """
    height, width = image.shape[:2]
    for row in range(height):
        for column in range(width):
            r = g = b = 0.0
            for i in range(2):
                for j in range(2):
                    y, x = 2 * row + i, 2 * column + j
                    if depth[y, x] < math.inf:
                        r += figure[y, x, 0]
                        g += figure[y, x, 1]
                        b += figure[y, x, 2]
                    else:
                        r += image[row, column, 0]
                        g += image[row, column, 1]
                        b += image[row, column, 2]
            pixels[row, column, 0] = int(min(max(r * 63.75 + 0.5, 0.0), 255.0))
            pixels[row, column, 1] = int(min(max(g * 63.75 + 0.5, 0.0), 255.0))
            pixels[row, column, 2] = int(min(max(b * 63.75 + 0.5, 0.0), 255.0))
