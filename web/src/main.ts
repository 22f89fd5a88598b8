import { mount } from "svelte";
import App from "./App.svelte";
import "../../crates/app/report/assets/colors.css";
import "./style/base.css";

const target = document.getElementById("app");
if (!target) throw new Error("index.html has an element for the pages");
mount(App, { target });
