#!/bin/sh
# Installs the programs of @leasehold/bridge into a folder as a user gets them: from the packages as published, without
# development dependencies. Run it in the root of the repository: sh deploy/build-programs.sh <folder>
set -eu

folder=$1
packed=$(mktemp -d)
trap 'rm -rf "$packed"' EXIT

# The bridge, and our packages that it depends on.
pnpm() {
  npx -y pnpm@12.21.0 --filter-prod '@leasehold/bridge...' "$@"
}

pnpm --filter leasehold-workspace install --frozen-lockfile
pnpm run build
pnpm pack --pack-destination "$packed"

mkdir -p "$folder"
npm install --prefix "$folder" --omit=dev --prefer-offline --no-audit --no-fund "$packed"/*.tgz
cp deploy/is-ready.mjs "$folder"
