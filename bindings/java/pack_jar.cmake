# Compiles the classes and packs them with the native libraries. Run by a custom command of CMakeLists.txt, which sets
# JAVAC, JAR, OUTPUT, CLASSES, SOURCES, GENERATED and NATIVES.
file(REMOVE_RECURSE ${CLASSES})
file(GLOB generated ${GENERATED}/*.java)
execute_process(COMMAND ${JAVAC} --release 17 -parameters -Xlint:all -Xdoclint:all,-missing -Werror
                        -d ${CLASSES}
                        ${SOURCES} ${generated}
                COMMAND_ERROR_IS_FATAL ANY)

# The sums list the libraries for Natives.java, and name the folder to which it unpacks them.
set(folder ${CLASSES}/org/halftone/natives/linux-x86_64)
file(MAKE_DIRECTORY ${folder})
set(sums "")
foreach(library ${NATIVES})
  cmake_path(GET library FILENAME name)
  file(REAL_PATH ${library} content)
  file(COPY_FILE ${content} ${folder}/${name})
  file(SHA256 ${content} sum)
  string(APPEND sums "${sum}  ${name}\n")
endforeach()
file(WRITE ${folder}/natives.sha256 "${sums}")
execute_process(COMMAND ${JAR} cf ${OUTPUT} -C ${CLASSES} org COMMAND_ERROR_IS_FATAL ANY)
