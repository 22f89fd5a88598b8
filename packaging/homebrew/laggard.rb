# The formula of a release; packaging/release.sh fills in what is between at signs.
class Laggard < Formula
  desc "Tells why a distributed system is slow, from its traces"
  homepage "@REPOSITORY@"
  url "@REPOSITORY@/releases/download/v@VERSION@/laggard-@VERSION@-@TARGET@.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on arch: :@BREW_ARCHITECTURE@
  depends_on :linux

  def install
    bin.install "laggard"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/laggard.bash" => "laggard"
    zsh_completion.install "completions/laggard.zsh" => "_laggard"
    fish_completion.install "completions/laggard.fish"
    pkgshare.install "laggard.yaml", "examples"
  end

  service do
    run [opt_bin/"laggard", "serve", "--data", var/"laggard"]
    keep_alive crashed: true
    log_path var/"log/laggard.log"
    error_log_path var/"log/laggard.log"
  end

  test do
    assert_equal "laggard #{version}", shell_output("#{bin}/laggard --version").strip
    assert_match "Suspects found", shell_output("#{bin}/laggard demo #{testpath}/demo")
  end
end
