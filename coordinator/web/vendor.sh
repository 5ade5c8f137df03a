#!/usr/bin/env bash
# Fetches the modules of others that the dashboard's pages are made of from npm's
# registry, and compares them with those that are committed. With --update they
# take their place. Each package is held to its digest, each file to SHA256SUMS.
set -euo pipefail
cd "$(dirname "$0")"
command -v npm >/dev/null || { echo "make vendor-web needs npm" >&2; exit 1; }
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
# package version file-in-package file-here
while read -r package version from to; do
  dir="$fresh/packages/${package//\//-}"
  if [ ! -d "$dir" ]; then
    mkdir -p "$dir"
    archive=$(cd "$dir" && npm pack --silent "$package@$version")
    found="sha512-$(openssl dgst -sha512 -binary "$dir/$archive" | base64 -w0)"
    wanted=$(awk -v p="$package@$version" '$1 == p { print $2 }' vendor.lock)
    [ "$found" = "$wanted" ] || { echo "$package@$version has the digest $found, and vendor.lock says $wanted" >&2; exit 1; }
    tar xzf "$dir/$archive" -C "$dir" --strip-components=1
  fi
  mkdir -p "$fresh/tree/$(dirname "$to")"
  # Maps back to the sources are not shipped, so nothing is to look for them.
  sed '/^\/\/# sourceMappingURL=/d' "$dir/$from" > "$fresh/tree/$to"
done < vendor.list
(cd "$fresh/tree" && find . -type f | LC_ALL=C sort | xargs sha256sum) > "$fresh/SHA256SUMS"
if [ "${1:-}" = --update ]; then
  cp -r "$fresh/tree/." .
  cp "$fresh/SHA256SUMS" SHA256SUMS
fi
diff "$fresh/SHA256SUMS" SHA256SUMS
sha256sum --quiet --check SHA256SUMS
echo "the committed modules are those of npm's registry"
