// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

// What a file system's type (mountinfo's, as in FileSeen::fsType) says of reads from it. Pure
// tables, for those who sample and those who analyse.
namespace stallprof {

template <std::size_t N>
[[nodiscard]] constexpr bool startsWithOneOf(std::string_view type,
                                             const std::array<std::string_view, N>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return type.starts_with(name); });
}

// Where an installed system keeps its own files, and the kernel its tables: no data set.
[[nodiscard]] constexpr bool isSystemPath(std::string_view path) {
  return !path.starts_with('/') ||
         startsWithOneOf(path, std::array<std::string_view, 6>{"/usr/", "/lib", "/proc/", "/sys/",
                                                               "/dev/", "/etc/"});
}

// A server, or a program, answers for it. fuseblk (ntfs-3g) is a program on a local disk.
[[nodiscard]] constexpr bool answersRemotely(std::string_view type) {
  return startsWithOneOf(
      type, std::array<std::string_view, 17>{"nfs", "cifs", "smb", "fuse", "ceph", "9p", "lustre",
                                             "glusterfs", "gpfs", "afs", "beegfs", "virtiofs",
                                             "wekafs", "panfs", "orangefs", "pvfs2", "dvs"});
}

// No disk of this host has its files: a server's, or memory.
[[nodiscard]] constexpr bool isOnNoDisk(std::string_view type) {
  return type == "tmpfs" || (answersRemotely(type) && !type.starts_with("fuseblk"));
}

// The kernel counts in read_bytes of /proc/PID/io what a process fetches from the storage below,
// byte by byte of the file: block file systems that submit their reads in the reader's name. Not
// network and FUSE mounts (5.18 and later count none of them, earlier ones some), not memory
// (tmpfs), not those that store compressed (squashfs, erofs) or read in threads of their own (zfs).
// An overlay's reads are those of what lies below, which a container does not see: not known.
[[nodiscard]] constexpr bool countsStorageReads(std::string_view type) {
  return startsWithOneOf(type, std::array<std::string_view, 14>{
                                   "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat",
                                   "ntfs3", "jfs", "bcachefs", "gfs2", "ocfs2", "iso9660"});
}

}  // namespace stallprof
