"""From predicted rows of numbers to joints in the root's frame, in torch: what losses and errors are taken of."""

from __future__ import annotations

import numpy as np
import torch

from ambulo.learning.pose_layout import PoseLayout


class PoseSpace(torch.nn.Module):
    """Reads rows ``[B, P]`` of a :class:`~ambulo.learning.pose_layout.PoseLayout`.

    Rotations are in the root's frame, so a joint's position is the sum of its ancestors' turned offsets: one product
    with a constant matrix in place of a walk down the skeleton.
    """

    chain: torch.Tensor
    offsets: torch.Tensor
    above: torch.Tensor
    moving: torch.Tensor

    def __init__(self, layout: PoseLayout) -> None:
        super().__init__()
        self.columns = layout.columns
        joints = layout.joint_count
        chain = np.zeros((joints - 1, joints - 1), np.float32)
        for joint in range(1, joints):
            above = joint
            while above > 0:
                chain[above - 1, joint - 1] = 1.0
                above = int(layout.parents[above])
        for name, values in (
            ("chain", chain),
            ("offsets", layout.offsets[1:]),
            ("above", layout.parents[1:].astype(np.int64)),
            ("moving", layout.moving - 1),
        ):
            self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(values)), persistent=False)

    def matrices(self, rows: torch.Tensor) -> torch.Tensor:
        """Rotation matrices ``[B, J - 1, 3, 3]`` in the root's frame, orthonormal."""
        axes = rows[:, self.columns["rotations"]].reshape(len(rows), -1, 2, 3)
        x = torch.nn.functional.normalize(axes[:, :, 0], dim=-1)
        z = torch.nn.functional.normalize(torch.linalg.cross(x, axes[:, :, 1]), dim=-1)
        y = torch.linalg.cross(z, x)
        return torch.stack([x, y, z], dim=-1)

    def positions(self, rows: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
        """Joints in the root's frame, metres: ``[B, 3, J - 1]``, joints last."""
        count = len(rows)
        offsets = self.offsets.expand(count, -1, -1)
        if len(self.moving):
            offsets = offsets.index_copy(1, self.moving, rows[:, self.columns["positions"]].reshape(count, -1, 3))
        root = torch.eye(3, device=rows.device).expand(count, 1, 3, 3)
        above = torch.cat([root, matrices], dim=1).index_select(1, self.above)
        turned = (above * offsets[:, :, None, :]).sum(-1)
        return turned.transpose(1, 2) @ self.chain

    def local_angles(self, matrices: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        """Angles ``[B, J - 1]``, radians, between the rotations of two poses in their parents' frames."""
        root = torch.eye(3, device=matrices.device).expand(len(matrices), 1, 3, 3)
        local = []
        for pose in (matrices, others):
            above = torch.cat([root, pose], dim=1).index_select(1, self.above)
            local.append(above.transpose(-1, -2) @ pose)
        # The length of the difference keeps its digits where the trace has none: |A - B| = 2 sqrt(2) sin(angle / 2).
        gap = (local[0] - local[1]).flatten(-2).norm(dim=-1)
        return 2.0 * torch.asin((gap / (2.0 * 2.0**0.5)).clamp(max=1.0))
