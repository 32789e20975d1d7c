#include "tests/sim/sim_disk.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/check.h"

namespace vestq {

uint64_t SimHash(uint64_t hash, std::string_view bytes) {
  // Eight bytes a step: FNV's byte at a time would be most of a simulation's time.
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    for (size_t k = 0; k < 8; ++k) {
      word |= uint64_t{static_cast<unsigned char>(bytes[i + k])} << (8 * k);
    }
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  for (; i < bytes.size(); ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001B3ull;
  }
  return (hash ^ bytes.size()) * 0x100000001B3ull;
}

SimDisk::SimDisk() : root_(std::make_shared<SimNode>()) {
  root_->is_directory = true;
  root_->links = 1;
}

SimDisk SimDisk::Clone() const {
  SimDisk copy;
  std::map<const SimNode*, SimNodePtr> copies;
  // Names a copy of each reachable node, then fills in; a node may be reachable by several ways
  // (links, renames).
  std::function<SimNodePtr(const SimNodePtr&)> clone = [&](const SimNodePtr& from) -> SimNodePtr {
    if (from == nullptr) return nullptr;
    if (auto known = copies.find(from.get()); known != copies.end()) return known->second;
    auto to = std::make_shared<SimNode>(*from);
    copies.emplace(from.get(), to);
    to->handles = 0;
    for (auto& entry : to->entries) entry.second = clone(entry.second);
    for (auto& entry : to->synced_entries) entry.second = clone(entry.second);
    return to;
  };
  copy.root_ = clone(root_);
  for (const Change& change : unsynced_) {
    copy.unsynced_.push_back({clone(change.remove_from), change.remove_name, clone(change.add_to),
                              change.add_name, clone(change.node)});
  }
  copy.capacity_ = capacity_;
  copy.mtime_ = mtime_;
  for (const auto& [from, to] : copies) {
    if (!to->is_directory && to->links > 0) copy.used_ += to->content.size();
  }
  return copy;
}

SimNodePtr SimDisk::Lookup(std::string_view path) const {
  SimNodePtr node = root_;
  size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '/') {
      ++at;
      continue;
    }
    const size_t end = std::min(path.find('/', at), path.size());
    if (!node->is_directory) return nullptr;
    const auto entry = node->entries.find(std::string(path.substr(at, end - at)));
    if (entry == node->entries.end()) return nullptr;
    node = entry->second;
    at = end;
  }
  return node;
}

SimNodePtr SimDisk::Parent(std::string_view path, std::string* name) const {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == path.size()) return nullptr;
  *name = std::string(path.substr(slash + 1));
  SimNodePtr parent = Lookup(path.substr(0, slash));
  return parent != nullptr && parent->is_directory ? parent : nullptr;
}

void SimDisk::Apply(Change change) {
  // Adds before it removes, so that a renamed file never counts as unused.
  if (change.add_to != nullptr) {
    ++change.node->links;
    SimNodePtr& slot = change.add_to->entries[change.add_name];
    if (slot != nullptr) {
      --slot->links;
      ReleaseIfUnused(*slot);
    }
    slot = change.node;
  }
  if (change.remove_from != nullptr) {
    CHECK(change.remove_from->entries.erase(change.remove_name) == 1);
    --change.node->links;
    ReleaseIfUnused(*change.node);
  }
  unsynced_.push_back(std::move(change));
}

void SimDisk::ApplySynced(const Change& change) {
  if (change.remove_from != nullptr) {
    const auto entry = change.remove_from->synced_entries.find(change.remove_name);
    // A rename whose source was created, unsynced, in another directory has nothing to remove here
    // yet.
    if (entry != change.remove_from->synced_entries.end())
      change.remove_from->synced_entries.erase(entry);
  }
  if (change.add_to != nullptr) change.add_to->synced_entries[change.add_name] = change.node;
}

DiskError SimDisk::Create(std::string_view path, SimNodePtr* node) {
  if (SimNodePtr existing = Lookup(path); existing != nullptr) {
    if (existing->is_directory) return DiskError::kIsDirectory;
    *node = existing;
    return Truncate(*existing, 0);
  }
  std::string name;
  SimNodePtr parent = Parent(path, &name);
  if (parent == nullptr) return DiskError::kNotFound;
  auto file = std::make_shared<SimNode>();
  file->mtime = ++mtime_;
  Apply({nullptr, "", parent, name, file});
  *node = file;
  return DiskError::kOk;
}

DiskError SimDisk::MakeDirectory(std::string_view path) {
  if (Lookup(path) != nullptr) return DiskError::kExists;
  std::string name;
  SimNodePtr parent = Parent(path, &name);
  if (parent == nullptr) return DiskError::kNotFound;
  auto directory = std::make_shared<SimNode>();
  directory->is_directory = true;
  directory->mtime = ++mtime_;
  Apply({nullptr, "", parent, name, directory});
  return DiskError::kOk;
}

DiskError SimDisk::Remove(std::string_view path) {
  SimNodePtr node = Lookup(path);
  if (node == nullptr) return DiskError::kNotFound;
  if (node->is_directory) return DiskError::kIsDirectory;
  std::string name;
  SimNodePtr parent = Parent(path, &name);
  Apply({parent, name, nullptr, "", node});
  return DiskError::kOk;
}

DiskError SimDisk::RemoveDirectory(std::string_view path) {
  SimNodePtr node = Lookup(path);
  if (node == nullptr) return DiskError::kNotFound;
  if (!node->is_directory) return DiskError::kNotDirectory;
  if (!node->entries.empty()) return DiskError::kNotEmpty;
  std::string name;
  SimNodePtr parent = Parent(path, &name);
  if (parent == nullptr) return DiskError::kNotEmpty;  // the root
  Apply({parent, name, nullptr, "", node});
  return DiskError::kOk;
}

DiskError SimDisk::Rename(std::string_view from, std::string_view to) {
  SimNodePtr node = Lookup(from);
  if (node == nullptr) return DiskError::kNotFound;
  std::string from_name;
  std::string to_name;
  SimNodePtr from_parent = Parent(from, &from_name);
  SimNodePtr to_parent = Parent(to, &to_name);
  if (from_parent == nullptr || to_parent == nullptr) return DiskError::kNotFound;
  if (SimNodePtr target = Lookup(to); target != nullptr) {
    if (target == node) return DiskError::kOk;
    if (target->is_directory)
      return target->entries.empty() ? DiskError::kIsDirectory : DiskError::kNotEmpty;
    if (node->is_directory) return DiskError::kNotDirectory;
  }
  Apply({from_parent, from_name, to_parent, to_name, node});
  return DiskError::kOk;
}

DiskError SimDisk::Link(std::string_view from, std::string_view to) {
  SimNodePtr node = Lookup(from);
  if (node == nullptr) return DiskError::kNotFound;
  if (node->is_directory) return DiskError::kIsDirectory;
  if (Lookup(to) != nullptr) return DiskError::kExists;
  std::string name;
  SimNodePtr parent = Parent(to, &name);
  if (parent == nullptr) return DiskError::kNotFound;
  Apply({nullptr, "", parent, name, node});
  return DiskError::kOk;
}

// Remembers the synced bytes of the sectors of [begin, end), which are about to change.
void SimDisk::Touch(SimNode& file, uint64_t begin, uint64_t end) {
  for (uint64_t sector = begin / kSector; sector * kSector < end; ++sector) {
    const uint64_t offset = sector * kSector;
    if (offset < file.synced_size && !file.undo.contains(sector)) {
      file.undo.emplace(sector,
                        file.content.substr(offset, std::min(kSector, file.synced_size - offset)));
    }
    file.dirty.insert(sector);
  }
}

void SimDisk::Resize(SimNode& file, uint64_t size) {
  used_ += size;
  used_ -= file.content.size();
  file.content.resize(size, '\0');
}

DiskError SimDisk::Write(SimNode& file, uint64_t offset, std::string_view data) {
  CHECK(!file.is_directory);
  file.mtime = ++mtime_;
  DiskError result = DiskError::kOk;
  const uint64_t old_size = file.content.size();
  uint64_t end = offset + data.size();
  if (end > old_size && end - old_size > Room()) {
    result = DiskError::kNoSpace;
    end = old_size + Room();
    if (end <= offset) return result;
    data = data.substr(0, end - offset);
  }
  if (data.empty()) return result;
  Touch(file, std::min(offset, old_size), end);
  if (end > old_size) Resize(file, end);
  file.content.replace(offset, data.size(), data);
  return result;
}

DiskError SimDisk::Truncate(SimNode& file, uint64_t size) {
  const uint64_t old_size = file.content.size();
  if (size == old_size) return DiskError::kOk;
  if (size > old_size && size - old_size > Room()) return DiskError::kNoSpace;
  file.mtime = ++mtime_;
  Touch(file, std::min(size, old_size), std::max(size, old_size));
  Resize(file, size);
  return DiskError::kOk;
}

void SimDisk::Sync(SimNode& file) {
  if (file.sync_failed) return;
  file.synced_size = file.content.size();
  file.undo.clear();
  file.dirty.clear();
}

void SimDisk::FailSync(SimNode& file) { file.sync_failed = true; }

void SimDisk::SyncDirectory(SimNode& directory) {
  std::vector<Change> rest;
  for (Change& change : unsynced_) {
    if (change.remove_from.get() == &directory || change.add_to.get() == &directory) {
      ApplySynced(change);
    } else {
      rest.push_back(std::move(change));
    }
  }
  unsynced_ = std::move(rest);
}

void SimDisk::SyncAll() {
  for (const Change& change : unsynced_) ApplySynced(change);
  unsynced_.clear();
  std::function<void(SimNode&)> sync = [&](SimNode& node) {
    if (!node.is_directory) Sync(node);
    for (const auto& entry : node.entries) sync(*entry.second);
  };
  sync(*root_);
}

void SimDisk::Close(SimNode& file) {
  CHECK(file.handles > 0);
  --file.handles;
  ReleaseIfUnused(file);
}

// The content stays: a crash may bring the entry back.
void SimDisk::ReleaseIfUnused(SimNode& file) {
  if (!file.is_directory && file.links == 0 && file.handles == 0) used_ -= file.content.size();
}

std::string SimDisk::SyncedImage(const SimNode& file) {
  std::string image = file.content.substr(0, file.synced_size);
  image.resize(file.synced_size, '\0');
  for (const auto& [sector, bytes] : file.undo)
    image.replace(sector * kSector, bytes.size(), bytes);
  return image;
}

std::string SimDisk::TornImage(const SimNode& file, SimRandom& random) {
  std::string image = SyncedImage(file);
  if (file.dirty.empty()) return image;
  // The length is metadata and moves on its own: what lies below it and was not written is zero.
  const uint64_t low = std::min<uint64_t>(file.synced_size, file.content.size());
  const uint64_t high = std::max<uint64_t>(file.synced_size, file.content.size());
  uint64_t size = random.Between(low, high);
  if (random.Chance(0.5)) size = std::min(high, (size + kSector - 1) / kSector * kSector);
  if (random.Chance(0.5)) size = random.Chance(0.3) ? file.synced_size : file.content.size();
  image.resize(size, '\0');
  // A drive writes 512 bytes or 4 KiB whole; which of them made it is a matter of chance.
  const uint64_t granule = random.Chance(0.5) ? 1 : 8;
  static constexpr std::array<double, 5> kKept = {0.0, 0.3, 0.5, 0.9, 1.0};
  const double kept = random.Pick(kKept);
  uint64_t group = ~uint64_t{0};
  bool keep = false;
  for (const uint64_t sector : file.dirty) {
    if (sector / granule != group) {
      group = sector / granule;
      keep = random.Chance(kept);
    }
    const uint64_t begin = sector * kSector;
    const uint64_t end = std::min<uint64_t>({begin + kSector, file.content.size(), size});
    if (keep && begin < end) image.replace(begin, end - begin, file.content, begin, end - begin);
  }
  return image;
}

void SimDisk::CrashNode(const SimNodePtr& node, SimRandom& random, CrashMode mode,
                        std::set<SimNode*>* done) {
  if (!done->insert(node.get()).second) {
    ++node->links;  // a hard link
    return;
  }
  node->handles = 0;
  node->links = 1;
  if (node->is_directory) {
    node->entries = node->synced_entries;
    for (const auto& entry : node->entries) CrashNode(entry.second, random, mode, done);
    return;
  }
  node->content = mode == CrashMode::kTorn ? TornImage(*node, random) : SyncedImage(*node);
  node->sync_failed = false;
  Sync(*node);
  used_ += node->content.size();
}

void SimDisk::Crash(SimRandom& random, CrashMode mode) {
  size_t kept = 0;
  if (mode == CrashMode::kTorn) kept = static_cast<size_t>(random.Between(0, unsynced_.size()));
  for (size_t i = 0; i < kept; ++i) ApplySynced(unsynced_[i]);
  unsynced_.clear();
  used_ = 0;
  std::set<SimNode*> done;
  CrashNode(root_, random, mode, &done);
}

void SimDisk::Visit(const std::function<void(const std::string&, const SimNode&)>& visit) const {
  std::function<void(const std::string&, const SimNode&)> walk = [&](const std::string& path,
                                                                     const SimNode& node) {
    for (const auto& [name, child] : node.entries) {
      const std::string child_path = path + "/" + name;
      visit(child_path, *child);
      if (child->is_directory) walk(child_path, *child);
    }
  };
  walk("", *root_);
}

uint64_t SimDisk::Fingerprint() const {
  uint64_t hash = kSimHashStart;
  Visit([&](const std::string& path, const SimNode& node) {
    hash = SimHash(hash, path);
    hash = SimHash(hash, node.content);
    hash = SimHash(hash, node.is_directory ? "d" : SyncedImage(node));
    for (const auto& entry : node.synced_entries) hash = SimHash(hash, entry.first);
  });
  return SimHash(hash, std::to_string(unsynced_.size()));
}

}  // namespace vestq
