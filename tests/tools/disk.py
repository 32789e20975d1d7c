"""A file system whose power can be cut, for the tests that do so (facts: an ext4 on a loop device, shut down without a log
flush, loses what was not synced and nothing else)."""

import fcntl
import os
import struct
import subprocess

EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


class Disk:
    """An ext4 on a loop device whose power can be cut; an ordinary folder where this process may not mount, or is told not to
    (`refused` then says why)."""

    def __init__(self, folder, wanted=True):
        self.mount = os.path.join(folder, "disk")
        os.mkdir(self.mount)
        self.device, self.refused = None, None
        image = os.path.join(folder, "disk.img")
        try:
            if not wanted:
                raise PermissionError("not wanted")
            if os.geteuid() != 0:
                raise PermissionError("not root")
            with open(image, "wb") as file:
                file.truncate(512 << 20)
            subprocess.run(["mkfs.ext4", "-qF", image], check=True, stderr=subprocess.DEVNULL)
            self.device = subprocess.run(["losetup", "--find", "--show", image], check=True, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL).stdout.decode().strip()
            self.remount()
        except (OSError, subprocess.CalledProcessError) as error:
            self.detach()
            self.refused = str(error)

    def remount(self):
        subprocess.run(["mount", self.device, self.mount], check=True, stderr=subprocess.DEVNULL)

    def cut_power(self):
        """Everything that was not synced is gone; the next mount finds only what was."""
        fd = os.open(self.mount, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(fd)

    def unmount(self):
        if os.path.ismount(self.mount):
            subprocess.run(["umount", self.mount], check=True)

    def detach(self):
        if self.device:
            subprocess.run(["losetup", "-d", self.device], check=False)
            self.device = None

    def close(self):
        self.unmount()
        self.detach()
